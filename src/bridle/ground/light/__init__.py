"""The `ground/light` package."""
