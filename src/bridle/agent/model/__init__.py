"""The model: requests to a Messages API or chat endpoint and the pieces of its answers. May not import `tools`."""
