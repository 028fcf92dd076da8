"""The parts of files that define a check: found, compared, and put back without touching the rest."""
