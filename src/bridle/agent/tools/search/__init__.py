"""Glob and Grep, which run ripgrep. Imports only `tools.contract` of the agent."""
