"""One agent run: its command line, its process, watchdogs, logs, sessions, budget. Imports errors, ground and wire."""
