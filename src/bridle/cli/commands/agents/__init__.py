"""The commands for users about one agent and its log, with click. No command imports another."""
