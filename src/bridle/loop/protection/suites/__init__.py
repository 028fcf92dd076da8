"""Reads the tests of a file, by language. Imports nothing else of the loop."""
