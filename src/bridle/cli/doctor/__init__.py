"""What `bridle doctor` checks: programs, login, folders, plugins. Imported by that command only."""
