"""Bridle runs coding agents unattended and proves what they did."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = [
    "EffectFailed",
    "__version__",
    "breakpoint_task",
    "define_task",
    "node_task",
    "orchestrator_task",
    "sleep_task",
]

_MODULES = {
    "EffectFailed": "bridle.errors",
    "breakpoint_task": "bridle.engine.process.task_templates",
    "define_task": "bridle.engine.process.define_task",
    "node_task": "bridle.engine.process.task_templates",
    "orchestrator_task": "bridle.engine.process.task_templates",
    "sleep_task": "bridle.engine.process.task_templates",
}

# The processes that are part of Bridle, by process id. Runs name them so: no run depends on a path.
_PROCESSES = {"bridle/loop": "bridle.loop.process.ralph"}


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # each name has a type of its own
    if name not in _MODULES:
        raise AttributeError(f"module 'bridle' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)
