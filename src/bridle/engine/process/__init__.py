"""The `engine/process` package."""
