"""The `run` layer; see docs/architecture.md."""
