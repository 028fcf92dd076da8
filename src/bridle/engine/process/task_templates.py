"""Ready-made tasks: node, breakpoint, orchestrator and sleep. A parameter is a value or a function of the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.engine.process import effects
from bridle.engine.process.define_task import DefinedTask, Definition, TaskContext, define_task

ValueOrFactory = Any
"""A value, or a function that gets the arguments and the task context and returns it."""

# The default time limit of a node task, by the format.
NODE_TIMEOUT_MS = 900_000

# Variables with such names hold secrets; a definition is written to a file and shown to agents.
_SECRET_WORDS = ("SECRET", "TOKEN", "PASSWORD", "KEY")


def node_task(
    task_id: str,
    *,
    entry: ValueOrFactory,
    args: ValueOrFactory = (),
    env: ValueOrFactory = None,
    cwd: ValueOrFactory = None,
    timeout_ms: ValueOrFactory = NODE_TIMEOUT_MS,
    **more: ValueOrFactory,
) -> DefinedTask:
    """Define a task that runs a JavaScript file with node, without variables whose names suggest secrets."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        node = _resolve_all({"entry": entry, "args": args, "cwd": cwd, "timeoutMs": timeout_ms}, arguments, task)
        node["args"] = list(node.get("args", ()))
        definition = _base("node", task_id, more, arguments, task)
        _add_environment(node, definition, _resolve(env, arguments, task))
        return definition | {"node": node}

    return define_task(task_id, impl)


def breakpoint_task(task_id: str, *, payload: ValueOrFactory = None, **more: ValueOrFactory) -> DefinedTask:
    """Define a task that asks the user."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        definition = _base("breakpoint", task_id, more, arguments, task)
        content = arguments if payload is None else _resolve(payload, arguments, task)
        return definition | {"breakpoint": {"payload": content}}

    return define_task(task_id, impl)


def orchestrator_task(task_id: str, *, payload: ValueOrFactory = None, **more: ValueOrFactory) -> DefinedTask:
    """Define a task for the program that drives the run."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        definition = _base("orchestrator_task", task_id, more, arguments, task)
        content = arguments if payload is None else _resolve(payload, arguments, task)
        return definition | {"orchestratorTask": {"payload": content}}

    return define_task(task_id, impl)


def sleep_task(task_id: str, *, until: ValueOrFactory, **more: ValueOrFactory) -> DefinedTask:
    """Define a task that ends at a time: an aware datetime, ISO text or milliseconds since 1970."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        target = effects.sleep_target(_resolve(until, arguments, task))
        return _base("sleep", task_id, more, arguments, task) | {"sleep": target.as_json()}

    return define_task(task_id, impl)


def _resolve(value: ValueOrFactory, arguments: Any, task: TaskContext) -> Any:
    return value(arguments, task) if callable(value) else value


def _resolve_all(values: Mapping[str, ValueOrFactory], arguments: Any, task: TaskContext) -> Definition:
    resolved = {name: _resolve(value, arguments, task) for name, value in values.items()}
    return {name: value for name, value in resolved.items() if value is not None}


def _base(kind: str, task_id: str, more: Mapping[str, ValueOrFactory], arguments: Any, task: TaskContext) -> Definition:
    return {"kind": kind, "title": task_id} | _resolve_all(more, arguments, task)


def _add_environment(node: Definition, definition: Definition, env: Mapping[str, str] | None) -> None:
    if env is None:
        return
    secrets = sorted(name for name in env if any(word in name.upper() for word in _SECRET_WORDS))
    node["env"] = {name: value for name, value in env.items() if name not in secrets}
    if secrets:
        definition["metadata"] = {**definition.get("metadata", {}), "redactedEnvKeys": secrets}
