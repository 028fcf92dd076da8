"""The `agent/skills` package."""
