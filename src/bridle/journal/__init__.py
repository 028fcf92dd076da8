"""The `journal` layer; see docs/architecture.md."""
