"""The `journal/format` package."""
