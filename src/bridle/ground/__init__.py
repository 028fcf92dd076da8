"""The `ground` layer; see docs/architecture.md."""
