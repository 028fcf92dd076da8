"""The `agent/command_line` package."""
