"""The driver: executes the pending effects of a run with agents and commands. May import every package of `engine`."""
