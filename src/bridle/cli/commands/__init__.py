"""One module for each command; `cli/command_table.py` names them. Commands do not import each other."""
