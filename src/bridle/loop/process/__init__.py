"""The loop as a replayed coroutine: it decides, and requests effects. It may import only plan, settings and effects."""
