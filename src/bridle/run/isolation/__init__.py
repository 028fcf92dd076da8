"""Sandboxes for agents and checks: what they may see and change, and the command that makes it so."""
