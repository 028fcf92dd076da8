"""The `views` layer; see docs/architecture.md."""
