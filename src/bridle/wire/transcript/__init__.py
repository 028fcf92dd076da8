"""The conversation of an agent run as items; imports wire.events, wire.record and wire.mask, and no view."""
