"""The `wire/events` package."""
