"""The `agent/settings` package."""
