"""The `loop/protection/formats` package."""
