"""The `hosts/install/plugin/hooks` package."""
