"""The `commands` layer; see docs/architecture.md."""
