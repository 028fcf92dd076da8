"""Restores protected parts of single file formats, from text to text. Imports only the values of protection."""
