"""Requests that bridle-agent sends to its host: permission prompts, and what hooks and MCP servers of the host need.

May import `permissions` and layers below the agent, not `tools` or `conversation`.
"""
