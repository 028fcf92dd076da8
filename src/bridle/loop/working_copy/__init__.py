"""Working copies of a run: context, worktrees, refs and locks. Imports only `loop.plan` and `loop.settings`."""
