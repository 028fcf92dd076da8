"""Parses Bash commands and decides whether they may run. Imports `permissions.rules`."""
