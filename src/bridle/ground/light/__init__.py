"""Replacements for slow imports, for hooks. Imports nothing but what every Python has loaded at its start."""
