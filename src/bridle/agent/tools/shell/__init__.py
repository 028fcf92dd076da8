"""Bash, background tasks, and the tools that read and stop them. Imports `tools.contract` and `skills` of the agent."""
