"""Session files and the binding of a session to a run. Imports no other package of `hosts`."""
