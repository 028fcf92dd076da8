"""Runs checks and setup commands on a fixed tree or in a fresh checkout. Imports protection and working_copy."""
