"""The Stop and SessionStart hooks. May import `adapters` and `sessions`; must stay light, since hosts wait for it."""
