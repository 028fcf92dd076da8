"""The command line: the dispatcher and every command. No other layer may import it; see docs/architecture.md."""
