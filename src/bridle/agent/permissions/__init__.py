"""What a model may do without being asked: rules, modes, commands and paths."""
