"""The input and the output of a hook: its command line, the host's payload, and the answer."""

from __future__ import annotations

from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Mapping
from bridle.hosts.adapters import Adapter
from bridle.hosts.sessions.session import SessionFile

# The lock holder that the Stop hook names while it writes a session file or a journal.
STOP_HOLDER = "hook:run stop"


class HookCall:
    """One start of a hook by its host."""

    __slots__ = ("adapter", "environ", "plugin_root", "runs_dir", "state_dir", "stdin")

    def __init__(
        self,
        adapter: Adapter,
        stdin: bytes,
        environ: Mapping[str, str],
        *,
        plugin_root: str | None = None,
        state_dir: str | None = None,
        runs_dir: str | None = None,
    ) -> None:
        self.adapter = adapter
        self.stdin = stdin
        self.environ = environ
        self.plugin_root = plugin_root
        self.state_dir = state_dir
        self.runs_dir = runs_dir


class Payload:
    """The host's JSON on standard input; a field that is missing, blank or not a string is None."""

    __slots__ = ("cwd", "event", "is_subagent", "last_message", "session_id", "transcript_path")

    def __init__(self, fields: Mapping[str, object]) -> None:
        self.event = _text(fields.get("hook_event_name"))
        self.session_id = _text(fields.get("session_id"))
        self.cwd = _text(fields.get("cwd"))
        self.transcript_path = _text(fields.get("transcript_path"))
        self.last_message = _text(fields.get("last_assistant_message"))
        self.is_subagent = self.event == "SubagentStop" or bool(fields.get("agent_id"))
        """Whether a sub-agent stops, not the session."""


class Answer:
    """A hook's answer; the empty document lets the session stop or start as it would without the hook."""

    __slots__ = ("document", "warnings")

    def __init__(self, document: Mapping[str, object] | None = None, warnings: tuple[str, ...] = ()) -> None:
        self.document = document or {}
        self.warnings = warnings


def read_payload(data: bytes) -> Payload | None:
    """Parse a payload; None if it is not a JSON object."""
    try:
        fields = quick_json.loads(data)
    except (ValueError, RecursionError):
        return None
    return Payload(fields) if isinstance(fields, dict) else None


def approve(*warnings: str) -> Answer:
    """Return the answer that does not interfere."""
    return Answer(None, warnings)


def file_warnings(file: SessionFile) -> tuple[str, ...]:
    """Return the faults of a session file as warnings."""
    return tuple(f"{file.path}: {fault}" for fault in file.faults)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
