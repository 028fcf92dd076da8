"""The `loop/protection/suites` package."""
