"""The `hosts/hooks` package."""
