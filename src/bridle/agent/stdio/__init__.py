"""The `agent/stdio` package."""
