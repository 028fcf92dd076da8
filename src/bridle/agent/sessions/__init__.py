"""Sessions on disk: transcripts in the format of Claude Code, written, read and resumed.

May import `prompt` (git) and `model`, nothing above them.
"""
