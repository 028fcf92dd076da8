"""The `dialects` layer; see docs/architecture.md."""
