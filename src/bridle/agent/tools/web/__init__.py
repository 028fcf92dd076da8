"""The `agent/tools/web` package."""
