"""The `loop/settings` package."""
