"""The `workspace` layer; see docs/architecture.md."""
