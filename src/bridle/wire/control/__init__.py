"""Control requests and responses between a host and an agent; imports only wire.events."""
