"""The `engine/iterate` package."""
