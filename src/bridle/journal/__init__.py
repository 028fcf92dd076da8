"""The journal of a run: its format, its stores and their cache, audit and repair; see docs/architecture.md."""
