"""Hooks, sessions and the plugin for the agent programs that host Bridle; see docs/architecture.md."""
