"""What an agent may change in git folders: found, restored and reported. Imports nothing of protection."""
