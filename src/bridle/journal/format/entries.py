"""Entries of a journal, and the effects that they request and resolve.

Every hook imports these values and must not import `dataclasses` (20 ms), so they are plain classes; they are
immutable all the same.
"""

from __future__ import annotations

from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Mapping
from bridle.journal.format import layout

# The entry types of the format.
RUN_CREATED = "RUN_CREATED"
EFFECT_REQUESTED = "EFFECT_REQUESTED"
EFFECT_RESOLVED = "EFFECT_RESOLVED"
RUN_COMPLETED = "RUN_COMPLETED"
RUN_FAILED = "RUN_FAILED"
RUN_HALTED = "RUN_HALTED"
STOP_HOOK_INVOKED = "STOP_HOOK_INVOKED"
PROCESS_LOG = "PROCESS_LOG"
OWN_PREFIX = "BRIDLE_"
"""The prefix of Bridle's own entry types, which other implementations ignore."""
RUN_CONTINUED = "BRIDLE_RUN_CONTINUED"
"""A run that had failed waits again, since its process was fixed."""
RESULT_REFUSED = "BRIDLE_RESULT_REFUSED"
"""The last result of an effect is from another process than the driver, and does not count: the effect is pending."""
COMMAND_REFUSED = "BRIDLE_COMMAND_REFUSED"
"""An agent or a check has called a command that steers a run."""

DRIVER_PREFIX = "bridle."
"""The beginning of the kinds of effects that only the driver of a run resolves."""

# The names of an effect's states in the format.
REQUESTED = "requested"
RESOLVED_OK = "resolved_ok"
RESOLVED_ERROR = "resolved_error"

BREAKPOINT = "breakpoint"
"""The kind of an effect that asks the user; its answer has a shape."""
SLEEP = "sleep"
"""The kind of an effect that waits until a time."""

# The status of a result.
OK = "ok"
ERROR = "error"

Data = Mapping[str, object]


def text_of(data: Data, name: str) -> str | None:
    """Return a field that is a string and not empty; else None."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


class Entry:
    """One event of a run, with its number."""

    __slots__ = ("_data", "recorded_at", "seq", "type", "ulid")

    def __init__(self, seq: int, ulid: str, entry_type: str, recorded_at: str, data: Data | bytes) -> None:
        self.seq = seq
        """From 1, without gaps."""
        self.ulid = ulid
        """Its id, greater than the one before."""
        self.type = entry_type
        self.recorded_at = recorded_at
        """The writer's time; it does not define the order, since clocks can step back."""
        self._data = data

    @property
    def data(self) -> Data:
        """Return the data; JSON text is parsed on first access, which mostly never happens."""
        if isinstance(self._data, bytes):
            self._data = quick_json.loads(self._data)  # type: ignore[assignment]  # an object, by its writer
        return self._data  # type: ignore[return-value]  # the same

    def text(self, name: str) -> str | None:
        """Return a field of the data that is a string and not empty; else None."""
        return text_of(self.data, name)

    def __repr__(self) -> str:
        return f"Entry({self.seq}, {self.ulid}, {self.type}, {self.recorded_at}, {dict(self.data)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.seq, self.ulid))

    def _values(self) -> tuple[object, ...]:
        return (self.seq, self.ulid, self.type, self.recorded_at, dict(self.data))


class Request:
    """The request of one step of a process; it becomes `task.json` and an EFFECT_REQUESTED entry."""

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
        """A new id from the writer, so that the definition can contain it."""
        self.key = key
        """`processId:stepId:taskId`, by which a replay finds the effect."""
        self.step_id = step_id
        self.task_id = task_id
        self.kind = kind
        self.label = label
        self.labels = labels
        """In the order of the process."""
        self.definition = definition
        """The definition of the task."""
        self.inputs = inputs
        """The arguments of the call."""
        self.blobs = blobs or {}
        """The files that the definition refers to, by name in the task's folder of blobs."""


class Effect:
    """One requested effect and its state."""

    __slots__ = ("effect_id", "key", "kind", "request", "resolution", "status", "step_id", "task_id")

    def __init__(self, request: Entry, effect_id: str, key: str, step_id: str, task_id: str, kind: str) -> None:
        self.request = request
        """The EFFECT_REQUESTED entry."""
        self.resolution: Entry | None = None
        """The EFFECT_RESOLVED entry, if resolved."""
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
    def task_ref(self) -> str:
        """Return the path of its task.json, relative to the run."""
        return self.request.text("taskDefRef") or f"{layout.TASKS}/{self.effect_id}/{layout.TASK_FILE}"

    @property
    def result_ref(self) -> str:
        """Return the path of its result.json, relative to the run."""
        recorded = None if self.resolution is None else self.resolution.text("resultRef")
        return recorded or f"{layout.TASKS}/{self.effect_id}/{layout.RESULT_FILE}"

    @property
    def label(self) -> str | None:
        label = self.request.data.get("label")
        return label if isinstance(label, str) else None

    def __repr__(self) -> str:
        return f"Effect({self.effect_id}, {self.key}, {self.kind}, {self.status})"


class Posted:
    """A result that is posted; it becomes `result.json` and an EFFECT_RESOLVED entry."""

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
        """The value of an `ok`: any JSON."""
        self.error = error
        """The error of an `error`: `name`, `message` and optional fields."""
        self.started_at = started_at
        self.finished_at = finished_at
        self.stdout = stdout
        self.stderr = stderr
        self.metadata = metadata


class Output:
    """The output of an effect: the text itself, or a reference to its file."""

    __slots__ = ("ref", "text")

    def __init__(self, *, text: str | None = None, ref: str | None = None) -> None:
        self.text = text
        self.ref = ref


class Result:
    """The result of a resolved effect."""

    __slots__ = ("blob_ref", "error", "status", "value")

    def __init__(self, status: str, value: object, error: Data | None, *, blob_ref: str | None = None) -> None:
        self.status = status
        self.value = value
        self.error = error
        self.blob_ref = blob_ref
        """The separate file of a value that is too large for its document."""

    def __repr__(self) -> str:
        return f"Result({self.status}, {self.value!r}, {self.error!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and (self.status, self.value, self.error) == (
            other.status,
            other.value,
            other.error,
        )

    __hash__ = None  # type: ignore[assignment]  # its value may be any JSON
