"""The `journal/upkeep` package."""
