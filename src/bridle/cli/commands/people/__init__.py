"""The commands for users, one module each, with click. Each imports what it needs inside its function."""
