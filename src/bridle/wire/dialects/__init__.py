"""Decoders of other agents' output into events; imports only wire.events and wire.record."""
