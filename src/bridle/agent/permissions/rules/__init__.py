"""The `agent/permissions/rules` package."""
