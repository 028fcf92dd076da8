"""Folders, files and paths as an agent may have left them: links, changes, times. Imports `disk` of ground alone."""
