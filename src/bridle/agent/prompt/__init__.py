"""The `agent/prompt` package."""
