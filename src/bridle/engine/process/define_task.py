"""What a process asks for: `define_task` and the ready-made definitions beside it.

A task is an id and a function that turns arguments into a definition: a dict with a `kind` and what that kind needs.
The function is called once for each effect, when it is first asked for; replays take the recorded definition.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from bridle.errors import BadTask
from bridle.ground import ids
from bridle.journal.format import codec
from bridle.journal.format.digest import sha256

Definition = dict[str, Any]
Impl = Callable[[Any, "TaskContext"], Mapping[str, Any]]
OrMade = Any
"""A value, or a function of the arguments and the task that makes it."""

# A node task that says nothing about it may take this long: the format's own default.
NODE_TIMEOUT_MS = 900_000

# Variables with such names hold secrets; a definition is written to a file and shown to agents.
_SECRET_WORDS = ("SECRET", "TOKEN", "PASSWORD", "KEY")
_SECTIONS = ("io", "node", "breakpoint", "orchestratorTask", "sleep", "metadata")


class TaskContext:
    """What the function of a task may know of the effect that it defines."""

    __slots__ = ("blobs", "effect_id", "invocation_key", "label", "labels", "run_dir", "run_id", "task_id")

    def __init__(
        self,
        effect_id: str,
        invocation_key: str,
        task_id: str,
        run_id: str,
        run_dir: str,
        label: str | None = None,
        labels: tuple[str, ...] = (),
    ) -> None:
        self.effect_id = effect_id
        self.invocation_key = invocation_key
        self.task_id = task_id
        self.run_id = run_id
        self.run_dir = run_dir
        self.label = label
        self.labels = labels
        self.blobs: dict[str, bytes] = {}
        """The texts of what `create_blob_ref` was given, by file name; written before the definition."""

    @property
    def tasks_dir(self) -> str:
        """The folder of all tasks."""
        return str(PurePosixPath(self.run_dir) / "tasks")

    @property
    def task_dir(self) -> str:
        """The folder of this one."""
        return str(PurePosixPath(self.tasks_dir) / self.effect_id)

    def to_task_relative_path(self, name: str) -> str:
        """A file of this task, as the run's other files name it; a path that leaves the folder is refused."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise BadTask(f"{name!r} is not a file in the folder of task {self.task_id}", remedy="Name a file in it.")
        return str(PurePosixPath("tasks") / self.effect_id / path)

    def create_blob_ref(self, name: str, value: object) -> str:
        """Keep a value as a file of its own beside the definition; returns the reference to put into it."""
        ids.check_id(name, what="blob name")
        text = codec.pretty(value)
        file = f"{name}-{sha256(text)}.json"
        self.blobs[file] = text
        return self.to_task_relative_path(f"blobs/{file}")


class DefinedTask:
    """A task that a process can ask for; made by `define_task`."""

    __slots__ = ("defined_at", "description", "identity", "impl", "kind", "labels", "task_id")

    def __init__(
        self,
        task_id: str,
        impl: Impl,
        kind: str | None = None,
        labels: tuple[str, ...] = (),
        description: str | None = None,
        defined_at: str = "",
        identity: Callable[[Any], Any] | None = None,
    ) -> None:
        self.task_id = task_id
        self.impl = impl
        self.kind = kind
        self.labels = labels
        self.description = description
        self.defined_at = defined_at
        """File and line."""
        self.identity = identity
        """Return the part of the arguments that a replay compares; None: all of them."""

    def __repr__(self) -> str:
        return f"DefinedTask({self.task_id!r}, {self.defined_at})"

    def define(self, arguments: Any, task: TaskContext) -> Definition:
        """The definition for these arguments, checked and completed."""
        made = self.impl(arguments, task)
        if not isinstance(made, Mapping):
            raise BadTask(
                f"task {self.task_id} ({self.defined_at}) gave {type(made).__name__} and no definition",
                remedy="Let its function return a dict with a 'kind'.",
            )
        definition = {name: part for name, part in made.items() if part is not None and not _is_no_section(name, part)}
        if self.kind is not None:
            definition.setdefault("kind", self.kind)
        if self.description is not None:
            definition.setdefault("description", self.description)
        labels = _labels(definition.pop("labels", ()), self.labels)
        if labels:
            definition["labels"] = list(labels)
        _check_kind(self, definition)
        return definition


class Registry:
    """The ids of the tasks of one process: each is defined once."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def add(self, task: DefinedTask) -> None:
        """Note a task, or refuse it because another one has its id."""
        place = self._places.setdefault(task.task_id, task.defined_at)
        if place != task.defined_at:
            raise BadTask(
                f"the task id {task.task_id!r} is defined twice: at {place} and at {task.defined_at}",
                remedy="Give each task an id of its own.",
            )


# The registry of the process that is being imported or run on this interpreter, if any.
current_registry: Registry | None = None


def define_task(
    task_id: str,
    impl: Impl,
    *,
    kind: str | None = None,
    labels: Iterable[str] = (),
    description: str | None = None,
    identity: Callable[[Any], Any] | None = None,
) -> DefinedTask:
    """Define a task: `impl(args, task)` returns its definition, a dict with a `kind`.

    A replay compares the arguments with the recorded ones. `identity(args)` returns the part that it compares: leave
    out texts whose wording may change while the process stays the same.
    """
    place = caller_place()
    given: object = task_id  # a process is not type-checked
    name = given.strip() if isinstance(given, str) else ""
    if not name:
        raise BadTask(f"a task without an id is defined at {place}", remedy="Give it a name, such as 'review'.")
    if not callable(impl):
        raise BadTask(
            f"task {name!r} is defined at {place} with {type(impl).__name__} and not with a function",
            remedy="Write define_task('name', lambda args, task: {'kind': …}).",
        )
    task = DefinedTask(name, impl, kind, tuple(labels), description, place, identity)
    if current_registry is not None:
        current_registry.add(task)
    return task


def node_task(
    task_id: str,
    *,
    entry: OrMade,
    args: OrMade = (),
    env: OrMade = None,
    cwd: OrMade = None,
    timeout_ms: OrMade = NODE_TIMEOUT_MS,
    **more: OrMade,
) -> DefinedTask:
    """A task that runs a JavaScript file with node; variables whose names speak of secrets are left out."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        node = _made({"entry": entry, "args": args, "cwd": cwd, "timeoutMs": timeout_ms}, arguments, task)
        node["args"] = list(node.get("args", ()))
        definition = _common("node", task_id, more, arguments, task)
        _put_environment(node, definition, _one(env, arguments, task))
        return definition | {"node": node}

    return define_task(task_id, impl)


def breakpoint_task(task_id: str, *, payload: OrMade = None, **more: OrMade) -> DefinedTask:
    """A task that asks a person."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        definition = _common("breakpoint", task_id, more, arguments, task)
        shown = arguments if payload is None else _one(payload, arguments, task)
        return definition | {"breakpoint": {"payload": shown}}

    return define_task(task_id, impl)


def orchestrator_task(task_id: str, *, payload: OrMade = None, **more: OrMade) -> DefinedTask:
    """A task for whoever drives the run."""

    def impl(arguments: Any, task: TaskContext) -> Definition:
        definition = _common("orchestrator_task", task_id, more, arguments, task)
        shown = arguments if payload is None else _one(payload, arguments, task)
        return definition | {"orchestratorTask": {"payload": shown}}

    return define_task(task_id, impl)


def sleep_task(task_id: str, *, until: OrMade, **more: OrMade) -> DefinedTask:
    """A task that ends at a moment: an aware datetime, ISO text or milliseconds since 1970."""
    from bridle.engine.process import effects

    def impl(arguments: Any, task: TaskContext) -> Definition:
        target = effects.sleep_target(_one(until, arguments, task))
        return _common("sleep", task_id, more, arguments, task) | {"sleep": target.as_json()}

    return define_task(task_id, impl)


def caller_place(*, depth: int = 2) -> str:
    """`file:line` of the first frame outside of this layer."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bridle.engine"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _check_kind(task: DefinedTask, definition: Definition) -> None:
    kind = definition.get("kind")
    if not isinstance(kind, str) or not kind.strip():
        raise BadTask(
            f"the definition of task {task.task_id} ({task.defined_at}) has no kind",
            remedy="Add 'kind': agent, shell, python, node, skill, breakpoint, sleep, orchestrator_task or your own.",
        )


def _is_no_section(name: str, part: object) -> bool:
    return name in _SECTIONS and not isinstance(part, Mapping)


def _labels(own: object, inherited: tuple[str, ...]) -> tuple[str, ...]:
    given = own if isinstance(own, (list, tuple)) else ()
    return tuple(dict.fromkeys(label for label in (*given, *inherited) if isinstance(label, str) and label))


def _one(value: OrMade, arguments: Any, task: TaskContext) -> Any:
    return value(arguments, task) if callable(value) else value


def _made(values: Mapping[str, OrMade], arguments: Any, task: TaskContext) -> Definition:
    made = {name: _one(value, arguments, task) for name, value in values.items()}
    return {name: value for name, value in made.items() if value is not None}


def _common(kind: str, task_id: str, more: Mapping[str, OrMade], arguments: Any, task: TaskContext) -> Definition:
    return {"kind": kind, "title": task_id} | _made(more, arguments, task)


def _put_environment(node: Definition, definition: Definition, env: Mapping[str, str] | None) -> None:
    if env is None:
        return
    secret = sorted(name for name in env if any(word in name.upper() for word in _SECRET_WORDS))
    node["env"] = {name: value for name, value in env.items() if name not in secret}
    if secret:
        definition["metadata"] = {**definition.get("metadata", {}), "redactedEnvKeys": secret}
