"""The engine's own entry types in the journal. Imports no other package of `engine`."""
