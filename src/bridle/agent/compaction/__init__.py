"""Compaction of a conversation that fills the context window: planning, summary texts, recording.

May import `sessions` and `model`, not `conversation`, `tools` or `stdio`.
"""
