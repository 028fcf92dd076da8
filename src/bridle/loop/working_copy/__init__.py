"""Working copies of a run: context, worktrees, refs and locks. Imports only plan, settings and records."""
