"""The `agent/model/api` package."""
