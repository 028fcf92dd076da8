"""The `agent/conversation` package."""
