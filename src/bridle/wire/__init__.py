"""The `wire` layer; see docs/architecture.md."""
