"""The `wire/control` package."""
