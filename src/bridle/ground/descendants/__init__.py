"""The `ground/descendants` package."""
