"""The conversation of an agent run as items; imports wire.events and wire.record, and no view."""
