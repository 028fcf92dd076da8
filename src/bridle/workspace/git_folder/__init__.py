"""The files of a git folder, read and checked without starting git. Imports no other package of the workspace."""
