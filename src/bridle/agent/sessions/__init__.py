"""The `agent/sessions` package."""
