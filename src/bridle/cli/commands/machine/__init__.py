"""The `cli/commands/machine` package."""
