"""The `journal/stores` package."""
