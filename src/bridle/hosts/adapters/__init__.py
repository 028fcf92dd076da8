"""The `hosts/adapters` package."""
