"""The `loop/working_copy` package."""
