"""The facts of an agent run and the verdict on them; imports only wire.events."""
