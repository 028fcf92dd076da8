"""What the control requests of a host do: the handlers, by topic. `assemble/host_control.py` joins them.

May import `conversation` and what is below it, not `assemble` or `command_line`.
"""
