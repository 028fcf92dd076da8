"""The journal of a run: its format, its cache, its stores and its upkeep; see docs/architecture.md."""
