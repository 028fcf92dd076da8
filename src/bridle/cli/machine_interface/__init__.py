"""What the commands for agents and hooks share. Imports neither click nor `cli/user_interface`: they start fast."""
