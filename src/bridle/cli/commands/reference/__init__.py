"""The commands that show what Bridle knows of itself: pages, completion, schemas. No command imports another."""
