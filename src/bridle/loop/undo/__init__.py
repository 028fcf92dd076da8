"""Undoing a run: the user's branch and files as before it, the work under a ref. It may not import control."""
