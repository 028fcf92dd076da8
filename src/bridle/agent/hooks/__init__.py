"""The hooks of Claude Code: definitions from settings, plugins and the host; running them; what they decide.

May import `control` and layers below the agent, not `tools` or `conversation`.
"""
