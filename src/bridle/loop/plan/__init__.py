"""The `loop/plan` package."""
