"""Decoders of other agents' output into Claude Code's events; imports wire.events and the record's token tally only."""
