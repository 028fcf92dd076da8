"""The `stage` layer; see docs/architecture.md."""
