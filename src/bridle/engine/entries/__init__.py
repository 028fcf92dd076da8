"""The `engine/entries` package."""
