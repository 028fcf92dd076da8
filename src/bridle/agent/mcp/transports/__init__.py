"""The ways to exchange messages with an MCP server: a child process, HTTP, server-sent events, and the host.

May import `model.http`, `model.api.sse`, `control` and layers below the agent, not the rest of `mcp`.
"""
