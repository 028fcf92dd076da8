"""The tools that a model can call. May not import `conversation`, `stdio`, `sessions` or `assemble`."""
