"""A git working copy: worktree, snapshot, restore, commit, merge. Imports only errors and ground."""
