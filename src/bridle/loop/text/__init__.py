"""The `loop/text` package."""
