"""The `hosts` layer; see docs/architecture.md."""
