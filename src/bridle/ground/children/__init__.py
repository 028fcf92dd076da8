"""The `ground/children` package."""
