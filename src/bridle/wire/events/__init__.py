"""Lines, events and content blocks, decoded and encoded; imports no other part of wire."""
