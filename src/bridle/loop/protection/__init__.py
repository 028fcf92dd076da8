"""Protection of what defines the checks, and of the user's own work. Imports settings, text and working_copy."""
