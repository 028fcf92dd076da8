"""Protection of what defines the checks: found, compared and restored. Imports settings, text and working_copy."""
