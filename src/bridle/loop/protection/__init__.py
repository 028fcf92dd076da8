"""The `loop/protection` package."""
