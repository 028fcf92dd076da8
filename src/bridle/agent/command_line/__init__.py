"""The command line of bridle-agent: flags, options, help, and the command `auth`.

May import `model`, `permissions` and `settings`, not `conversation` or `tools`.
"""
