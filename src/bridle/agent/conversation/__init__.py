"""The conversation with the model: turns, requests, tool calls, and the log of messages.

May import `tools`, `compaction`, `stdio` and what is below them, not `assemble` or `command_line`.
"""
