"""The `agent/tools/files` package."""
