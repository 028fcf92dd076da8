"""The commands for agents, hooks and skills, one module each. Imports neither click nor `cli/user_interface`."""
