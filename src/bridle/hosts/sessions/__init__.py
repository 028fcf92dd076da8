"""The `hosts/sessions` package."""
