"""Glob and Grep, which run ripgrep. Imports `tools.contract` and `permissions.rules` of the agent."""
