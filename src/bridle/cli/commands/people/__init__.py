"""The `cli/commands/people` package."""
