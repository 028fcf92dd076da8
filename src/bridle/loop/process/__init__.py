"""The `loop/process` package."""
