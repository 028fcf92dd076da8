"""The `loop/control` package."""
