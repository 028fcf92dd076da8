"""Runs of a process: replay, iteration and driving; see docs/architecture.md."""
