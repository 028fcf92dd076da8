"""The `agent/tools/contract` package."""
