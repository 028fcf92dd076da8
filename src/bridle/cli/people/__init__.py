"""The `cli/people` package."""
