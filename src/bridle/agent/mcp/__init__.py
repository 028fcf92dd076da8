"""MCP servers: their configuration, connections, tools, resources and prompts. Imported only if a server is configured.

May import `tools.contract`, `control`, `model.http`, `model.api.sse` and layers below the agent, not `conversation`.
"""
