"""The `wire/transcript` package."""
