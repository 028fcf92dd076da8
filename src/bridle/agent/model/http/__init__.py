"""The `agent/model/http` package."""
