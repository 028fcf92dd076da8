"""What a journal holds: entries, and the effects that they ask for and resolve.

These values are on the path of every hook, which may not import `dataclasses` (20 ms): they are written out by
hand and, like every value, never changed once made.
"""

from __future__ import annotations

from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Mapping

# The format's own entry types.
RUN_CREATED = "RUN_CREATED"
EFFECT_REQUESTED = "EFFECT_REQUESTED"
EFFECT_RESOLVED = "EFFECT_RESOLVED"
RUN_COMPLETED = "RUN_COMPLETED"
RUN_FAILED = "RUN_FAILED"
RUN_HALTED = "RUN_HALTED"
STOP_HOOK_INVOKED = "STOP_HOOK_INVOKED"
PROCESS_LOG = "PROCESS_LOG"
OWN_PREFIX = "BRIDLE_"
"""Entry types of our own begin with this; other implementations pass over them."""

# What an effect's state is called in the format's own files.
REQUESTED = "requested"
RESOLVED_OK = "resolved_ok"
RESOLVED_ERROR = "resolved_error"

# How a result was posted.
OK = "ok"
ERROR = "error"

Data = Mapping[str, object]


class Entry:
    """One thing that happened in a run, at its place in the order of all."""

    __slots__ = ("_data", "recorded_at", "seq", "type", "ulid")

    def __init__(self, seq: int, ulid: str, entry_type: str, recorded_at: str, data: Data | bytes) -> None:
        self.seq = seq
        """1 for the first, without a gap."""
        self.ulid = ulid
        """Its id; each is greater than the one before."""
        self.type = entry_type
        self.recorded_at = recorded_at
        """What the writer's clock said, as text; clocks step back, so it orders nothing."""
        self._data = data

    @property
    def data(self) -> Data:
        """What happened, in its own fields; given as JSON it is parsed when first looked at, which is mostly never."""
        if isinstance(self._data, bytes):
            self._data = quick_json.loads(self._data)  # type: ignore[assignment]  # an object, as its writer made sure
        return self._data  # type: ignore[return-value]  # the same

    def __repr__(self) -> str:
        return f"Entry({self.seq}, {self.ulid}, {self.type}, {self.recorded_at}, {dict(self.data)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.seq, self.ulid))

    def _values(self) -> tuple[object, ...]:
        return (self.seq, self.ulid, self.type, self.recorded_at, dict(self.data))


class Request:
    """What a process asks for at one step; it becomes `task.json` and an EFFECT_REQUESTED entry."""

    __slots__ = ("blobs", "definition", "effect_id", "inputs", "key", "kind", "label", "labels", "step_id", "task_id")

    def __init__(
        self,
        *,
        effect_id: str,
        key: str,
        step_id: str,
        task_id: str,
        kind: str,
        label: str | None,
        labels: tuple[str, ...] = (),
        definition: Data,
        inputs: object,
        blobs: Mapping[str, bytes] | None = None,
    ) -> None:
        self.effect_id = effect_id
        """A fresh id from the writer, so that the definition can name it."""
        self.key = key
        """`processId:stepId:taskId`: by this a replay finds the effect again."""
        self.step_id = step_id
        self.task_id = task_id
        self.kind = kind
        self.label = label
        self.labels = labels
        """In the order in which they were given."""
        self.definition = definition
        """The task as the process defined it."""
        self.inputs = inputs
        """The arguments of the call."""
        self.blobs = blobs or {}
        """Files that the definition refers to: their texts, by their names in the task's folder of blobs."""


class Effect:
    """One thing that a process asked for, with what the journal says of it."""

    __slots__ = ("effect_id", "key", "kind", "request", "resolution", "status", "step_id", "task_id")

    def __init__(self, request: Entry, effect_id: str, key: str, step_id: str, task_id: str, kind: str) -> None:
        self.request = request
        """The EFFECT_REQUESTED entry."""
        self.resolution: Entry | None = None
        """The EFFECT_RESOLVED entry, once there is one."""
        self.status = REQUESTED
        """`requested`, `resolved_ok` or `resolved_error`."""
        self.effect_id = effect_id
        self.key = key
        self.step_id = step_id
        self.task_id = task_id
        self.kind = kind

    @property
    def is_pending(self) -> bool:
        return self.resolution is None

    @property
    def label(self) -> str | None:
        label = self.request.data.get("label")
        return label if isinstance(label, str) else None

    def __repr__(self) -> str:
        return f"Effect({self.effect_id}, {self.key}, {self.kind}, {self.status})"


class Posted:
    """The result of an effect as somebody posts it; it becomes `result.json` and an EFFECT_RESOLVED entry."""

    __slots__ = ("error", "finished_at", "metadata", "started_at", "status", "stderr", "stdout", "value")

    def __init__(
        self,
        status: str,
        *,
        value: object = None,
        error: Data | None = None,
        started_at: str,
        finished_at: str,
        stdout: Output | None = None,
        stderr: Output | None = None,
        metadata: Data | None = None,
    ) -> None:
        self.status = status
        """`ok` or `error`."""
        self.value = value
        """What an `ok` gives back: any JSON."""
        self.error = error
        """What an `error` is: `name`, `message`, and what else there is."""
        self.started_at = started_at
        self.finished_at = finished_at
        self.stdout = stdout
        self.stderr = stderr
        self.metadata = metadata


class Output:
    """What a performed effect printed: the text itself, or where it is kept."""

    __slots__ = ("ref", "text")

    def __init__(self, *, text: str | None = None, ref: str | None = None) -> None:
        self.text = text
        self.ref = ref


class Result:
    """The result of a resolved effect, as a process gets it."""

    __slots__ = ("error", "status", "value")

    def __init__(self, status: str, value: object, error: Data | None) -> None:
        self.status = status
        self.value = value
        self.error = error

    def __repr__(self) -> str:
        return f"Result({self.status}, {self.value!r}, {self.error!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and (self.status, self.value, self.error) == (
            other.status,
            other.value,
            other.error,
        )

    __hash__ = None  # type: ignore[assignment]  # its value may be any JSON
