"""The `agent/tools/todo` package."""
