"""The `demo` layer; see docs/architecture.md."""
