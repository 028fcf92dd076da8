"""Permission decisions for tool calls: rules, modes, paths and Bash commands. Imports no tools and no conversation."""
