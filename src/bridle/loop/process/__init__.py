"""The loop as a replayed coroutine: it decides, and requests effects. Imports only plan, settings and records."""
