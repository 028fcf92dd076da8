"""The commands for users that set up a repository or this machine, with click. No command imports another."""
