"""The `loop/performers` package."""
