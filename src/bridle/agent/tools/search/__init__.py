"""The `agent/tools/search` package."""
