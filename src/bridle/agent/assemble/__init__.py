"""The `agent/assemble` package."""
