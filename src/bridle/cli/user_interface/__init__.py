"""What the commands for users share: the terminal, displays, receipts. `cli/machine_interface` must not import it."""
