"""The `agent/tools/shell` package."""
