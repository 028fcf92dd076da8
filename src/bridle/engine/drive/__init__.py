"""The `engine/drive` package."""
