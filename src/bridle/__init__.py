"""Bridle runs coding agents unattended and proves what they did."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = [
    "Context",
    "DefinedTask",
    "EffectFailed",
    "Error",
    "Finished",
    "LoggedRun",
    "Receipt",
    "Stage",
    "TaskContext",
    "__version__",
    "breakpoint_task",
    "define_task",
    "load_script",
    "node_task",
    "orchestrator_task",
    "read_log",
    "read_receipt",
    "run_agent",
    "sleep_task",
]

# `__init__.pyi` has the same names for type checkers.
_MODULES = {
    "Context": "bridle.engine.process.context",
    "DefinedTask": "bridle.engine.process.define_task",
    "EffectFailed": "bridle.errors",
    "Error": "bridle.errors",
    "Finished": "bridle.run.finished",
    "LoggedRun": "bridle.run.read_log",
    "Receipt": "bridle.loop.process.receipt",
    "Stage": "bridle.stage.server",
    "TaskContext": "bridle.engine.process.define_task",
    "breakpoint_task": "bridle.engine.process.task_templates",
    "define_task": "bridle.engine.process.define_task",
    "load_script": "bridle.stage.script",
    "node_task": "bridle.engine.process.task_templates",
    "orchestrator_task": "bridle.engine.process.task_templates",
    "read_log": "bridle.run.read_log",
    "read_receipt": "bridle.loop.control.current_state",
    "run_agent": "bridle.run.run_agent",
    "sleep_task": "bridle.engine.process.task_templates",
}

# The processes that are part of Bridle, by process id. Runs name them so: no run depends on a path.
_PROCESSES = {"bridle/loop": "bridle.loop.process.ralph"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'bridle' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)
