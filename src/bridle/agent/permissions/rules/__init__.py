"""Permission rules, policy, file access and denial messages. Imports nothing of `permissions.bash`."""
