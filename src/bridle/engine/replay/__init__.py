"""The `engine/replay` package."""
