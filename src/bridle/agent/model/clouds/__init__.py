"""The `agent/model/clouds` package."""
