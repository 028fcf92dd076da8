"""Finds Python modules that replace those which checks import. Imports only the shell commands of protection."""
