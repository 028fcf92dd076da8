"""Restores protected parts of single file formats, from text to text. Imports only text and values of protection."""
