"""What the commands for agents and hooks share. Imports neither click nor `cli/people`: they must start quickly."""
