"""The `agent/permissions/bash` package."""
