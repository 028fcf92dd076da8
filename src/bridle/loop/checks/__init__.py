"""The `loop/checks` package."""
