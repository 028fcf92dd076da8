"""Test commands of a repository and its first bridle.toml and PLAN.md. Imports only `loop.plan` and `loop.settings`."""
