"""The settings files of Claude Code, merged by precedence. Imports only `permissions` of the agent."""
