"""The stream-json contract, pure: bytes to events, record, outcome and transcript; imports only errors."""
