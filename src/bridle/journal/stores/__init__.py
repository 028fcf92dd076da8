"""Stores of a journal, in files and in memory. May import `format` and `pack`; hooks import it."""
