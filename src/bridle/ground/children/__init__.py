"""Child processes: start, read, write, wait, stop. May import descendants; nothing in light imports it."""
