"""A run as plain JSON values for every view: cards, needs, journal, checks, commits, charts, conversations, search.

It reads journals, logs and git, and knows no web framework and no terminal. The web page, the exported files and the
full-screen view show the same values. Imports views.conversation_json and views.log_chunks.
"""
