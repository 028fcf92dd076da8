"""The `journal/pack` package."""
