"""The `cli/programs` package."""
