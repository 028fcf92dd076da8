"""What an agent may change in git folders: found, restored and reported. Of protection it imports only the walk."""
