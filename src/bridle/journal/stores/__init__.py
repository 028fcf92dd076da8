"""Stores of a journal, in files and in memory, and the pack. May import `format`; hooks import it."""
