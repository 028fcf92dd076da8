"""The `engine/hooks` package."""
