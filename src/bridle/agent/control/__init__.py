"""Control requests in both directions: those to the host and their responses, those of the host and their handlers.

May import `permissions` and layers below the agent, not `tools` or `conversation`.
"""
