"""What an agent or a crash left in git, found and undone: forged and lost objects, locks. Imports git."""
