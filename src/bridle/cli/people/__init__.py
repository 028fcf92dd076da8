"""What the commands for users share: arguments, displays, driving. May not be imported by `cli/programs`."""
