"""Shell completion of commands, options, runs and tasks. Imported by `bridle completion` only."""
