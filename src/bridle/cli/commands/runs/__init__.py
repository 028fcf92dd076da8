"""The commands for users about a run, with click. Heavy modules are imported late; no command imports another."""
