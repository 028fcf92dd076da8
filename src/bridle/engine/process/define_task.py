"""Tasks of a process: `define_task`.

A task is an id and a function that turns arguments into a definition: a dict with a `kind` and its fields. The function
is called once for each effect, on its first request; replays use the recorded definition.
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
_SECTIONS = ("io", "node", "breakpoint", "orchestratorTask", "sleep", "metadata")


class TaskContext:
    """The effect that a task's function defines."""

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
        """The values of `create_blob_ref` as JSON, by file name; written before the definition."""

    @property
    def tasks_dir(self) -> str:
        """Return the folder of all tasks of the run."""
        return str(PurePosixPath(self.run_dir) / "tasks")

    @property
    def task_dir(self) -> str:
        """The folder of this task, relative to the run."""
        return str(PurePosixPath(self.tasks_dir) / self.effect_id)

    def to_task_relative_path(self, name: str) -> str:
        """Return a file of this task relative to the run; raise BadTask for a path outside of the task's folder."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise BadTask(f"a file of task {self.task_id} must be in its folder, got {name!r}")
        return str(PurePosixPath("tasks") / self.effect_id / path)

    def create_blob_ref(self, name: str, value: object) -> str:
        """Store a value as a separate file and return the reference for the definition."""
        ids.check_id(name, what="blob name")
        try:
            text = codec.pretty(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadTask(
                f"the blob {name!r} of task {self.task_id} cannot be written as JSON: {error}",
                remedy="Use str, int, float, bool, None, list and dict with keys of type str.",
            ) from error
        file = f"{name}-{sha256(text)}.json"
        self.blobs[file] = text
        return self.to_task_relative_path(f"blobs/{file}")


class DefinedTask:
    """A task that a process can request; the result of `define_task`."""

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
        """The file and line of its definition."""
        self.identity = identity
        """Returns the part of the arguments that a replay compares; None compares all of them."""

    def __repr__(self) -> str:
        return f"DefinedTask({self.task_id!r}, {self.defined_at})"

    def define(self, arguments: Any, task: TaskContext) -> Definition:
        """Return the definition for these arguments, checked and completed."""
        result = self.impl(arguments, task)
        if not isinstance(result, Mapping):
            raise BadTask(
                f"task {self.task_id} ({self.defined_at}) must return a dict, got {type(result).__name__}",
                remedy="Return a dict with a 'kind'.",
            )
        definition = {name: part for name, part in result.items() if part is not None and _is_valid(name, part)}
        if self.kind is not None:
            definition.setdefault("kind", self.kind)
        if self.description is not None:
            definition.setdefault("description", self.description)
        labels = _join_labels(definition.pop("labels", ()), self.labels)
        if labels:
            definition["labels"] = list(labels)
        _check_kind(self, definition)
        return definition


class Registry:
    """The task ids of one process, each defined once."""

    def __init__(self) -> None:
        self._locations: dict[str, str] = {}

    def add(self, task: DefinedTask) -> None:
        """Register a task; raise BadTask if another one has its id."""
        location = self._locations.setdefault(task.task_id, task.defined_at)
        if location != task.defined_at:
            raise BadTask(
                f"the task id {task.task_id!r} is defined twice: at {location} and at {task.defined_at}",
                remedy="Give each task a unique id.",
            )


# The registry of the process that is being imported or executed, if any.
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
    location = caller_location()
    argument: object = task_id  # a process is not type-checked
    name = argument.strip() if isinstance(argument, str) else ""
    if not name:
        raise BadTask(f"a task at {location} has no id", remedy="Give it a name, such as 'review'.")
    if not callable(impl):
        raise BadTask(
            f"task {name!r} at {location} must have a function, got {type(impl).__name__}",
            remedy="Write define_task('name', lambda args, task: {'kind': …}).",
        )
    task = DefinedTask(name, impl, kind, tuple(labels), description, location, identity)
    if current_registry is not None:
        current_registry.add(task)
    return task


def caller_location(*, depth: int = 2) -> str:
    """Return `file:line` of the first frame outside of the engine."""
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


def _is_valid(name: str, part: object) -> bool:
    return name not in _SECTIONS or isinstance(part, Mapping)


def _join_labels(own: object, inherited: tuple[str, ...]) -> tuple[str, ...]:
    labels = (*own, *inherited) if isinstance(own, (list, tuple)) else inherited
    return tuple(dict.fromkeys(label for label in labels if isinstance(label, str) and label))
