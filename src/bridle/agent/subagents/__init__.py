"""Sub-agents: their definitions, the tool that starts them, what they print, and their transcripts.

May import `conversation` and everything that it may import, not `assemble`.
"""
