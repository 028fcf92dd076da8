"""The `agent/compaction` package."""
