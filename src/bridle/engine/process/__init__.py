"""The interface of a process: its context, its tasks and its import. Imports no other package of `engine`."""
