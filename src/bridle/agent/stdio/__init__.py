"""Standard input and output of bridle-agent: the stream-json protocol, output formats, the debug log.

May import `sessions` and layers below the agent, not `conversation` or `tools`.
"""
