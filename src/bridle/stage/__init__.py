"""A scripted model server on loopback; imports only errors and wire."""
