"""The `wire/record` package."""
