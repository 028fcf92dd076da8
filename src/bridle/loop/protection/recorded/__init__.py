"""Files that are recorded before an agent or a check, and compared after it. Imports nothing of git_files."""
