"""The operating system: processes, files, locks, clock, ids. Imports only errors."""
