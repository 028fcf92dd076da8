"""Sandboxes for agents and checks: what they may see and change, and the command for it. May not import the runner."""
