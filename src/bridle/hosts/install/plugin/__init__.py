"""The `hosts/install/plugin` package."""
