"""The `hosts/install` package."""
