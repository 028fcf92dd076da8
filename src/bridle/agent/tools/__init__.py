"""The tools that bridle-agent offers to a model."""
