"""What Bridle must know of a host, the agent program that it is plugged into by hooks.

An adapter says how to recognise its host, what the host's hooks say, and where the host's sessions are. What is done
about it (binding, the two hooks) is the same for all of them. Hooks import this, so nothing heavy may be imported here.
"""

from __future__ import annotations

import os

from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Callable, Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.hooks.hook_answer import Answer
from bridle.hosts.sessions import session_file

FLAG = "--session-id"
PAYLOAD = "the hook's payload"

# Where the other implementation's plugin keeps the script that runs native hooks.
DISPATCHER = "hooks/hook-dispatcher.sh"
DISPATCHER_IN_PROJECT = "plugins/babysitter/hooks/hook-dispatcher.sh"


class Identity:
    """A session's id and who named it."""

    __slots__ = ("session_id", "source")

    def __init__(self, session_id: str, source: str) -> None:
        self.session_id = session_id
        self.source = source
        """`FLAG`, `PAYLOAD`, or the environment variable that it was inherited through."""

    @property
    def is_inherited(self) -> bool:
        """Whether it came from the environment, where an id may outlive its session."""
        return self.source not in (FLAG, PAYLOAD)


class Payload:
    """What a hook was told, in the words that all hosts share; what is missing or no text is None."""

    __slots__ = ("cwd", "event", "fields", "last_message", "session_id", "transcript_path")

    def __init__(self, fields: Mapping[str, object], *, reads_transcript: bool = True) -> None:
        self.fields = fields
        """The payload as it came."""
        self.event = _text(fields.get("hook_event_name"))
        self.session_id = _text(fields.get("session_id"))
        self.cwd = _text(fields.get("cwd"))
        self.transcript_path = _text(fields.get("transcript_path")) if reads_transcript else None
        self.last_message = _text(fields.get("last_assistant_message"))


class HookCall:
    """The command line that a host's hook was started with."""

    __slots__ = ("environ", "plugin_root", "runs_dir", "state_dir", "stdin")

    def __init__(
        self,
        stdin: bytes,
        environ: Mapping[str, str],
        *,
        plugin_root: str | None = None,
        state_dir: str | None = None,
        runs_dir: str | None = None,
    ) -> None:
        self.stdin = stdin
        self.environ = environ
        self.plugin_root = plugin_root
        self.state_dir = state_dir
        self.runs_dir = runs_dir


class BindRequest:
    """A session that shall be bound to a run."""

    __slots__ = ("harness", "identity", "max_iterations", "now", "path", "prompt", "run_id", "runs")

    def __init__(
        self,
        *,
        harness: str,
        identity: Identity,
        path: Path,
        run_id: str,
        runs: Path,
        prompt: str,
        now: str,
        max_iterations: int | None = None,
    ) -> None:
        self.harness = harness
        self.identity = identity
        self.path = path
        """The session's file."""
        self.run_id = run_id
        self.runs = runs
        """The folder of runs, where the run that the session has now would be too."""
        self.prompt = prompt
        self.now = now
        self.max_iterations = max_iterations
        """None leaves it as it is."""


class Adapter:
    """One host; each is a subclass that says what is special about it."""

    name = ""
    signs: tuple[str, ...] = ()
    """Environment variables of which each shows that we run inside this host."""
    session_variables: tuple[str, ...] = ()
    """Environment variables that may name the session, the most trustworthy first."""
    plugin_variables: tuple[str, ...] = ()
    """Environment variables that may name the folder of the plugin."""
    reads_transcript = True
    """Whether its transcript is written as the format's own host writes it."""
    exports_variable: str | None = None
    """Names the file whose lines the host adds to the environment of every later command, if it has one."""
    has_dispatcher = True
    holds_sessions = True
    """Whether its sessions can be bound to runs and held by the Stop hook."""

    def is_active(self, environ: Mapping[str, str]) -> bool:
        """Whether we seem to run inside this host."""
        return any(environ.get(name) for name in self.signs)

    def resolve_session_id(
        self, given: str | None, payload: Payload | None, environ: Mapping[str, str]
    ) -> Identity | None:
        """The session that is meant: what the hook or the caller says, and only then what was inherited."""
        if not self.holds_sessions:
            return None
        if payload is not None:
            return Identity(payload.session_id, PAYLOAD) if payload.session_id else None
        if given and given.strip():
            return Identity(given, FLAG)
        found = next((name for name in self.session_variables if environ.get(name)), None)
        return Identity(environ[found], found) if found else None

    def resolve_plugin_root(self, given: str | None, environ: Mapping[str, str]) -> str | None:
        """The folder of the plugin, where it is known."""
        found = given or next((environ[name] for name in self.plugin_variables if environ.get(name)), None)
        return os.path.abspath(found) if found else None

    def resolve_state_dirs(
        self, given: str | None, plugin_root: str | None, cwd: str | None, environ: Mapping[str, str]
    ) -> tuple[Path, ...]:
        """The folders that a session's file may be in, the first being where a new one goes."""
        return session_file.state_dirs(given, self.resolve_plugin_root(plugin_root, environ), cwd, environ)

    def resolve_state_dir(
        self, given: str | None, plugin_root: str | None, cwd: str | None, environ: Mapping[str, str]
    ) -> Path:
        """The folder of session files."""
        return self.resolve_state_dirs(given, plugin_root, cwd, environ)[0]

    def read_payload(self, data: bytes) -> Payload | None:
        """What the hook was told on its standard input; None where that is no object."""
        try:
            fields = quick_json.loads(data)
        except (ValueError, RecursionError):
            return None
        return Payload(fields, reads_transcript=self.reads_transcript) if isinstance(fields, dict) else None

    def bind_session(self, wish: BindRequest, make: Callable[[], Path], undo: Callable[[Path], None]) -> Path:
        """Make a run and bind a session to it: both come to be, or neither."""
        from bridle.hosts.sessions.binding import bind

        return bind(wish, make, undo)

    def handle_stop_hook(self, call: HookCall) -> Answer:
        """Decide whether a session may end."""
        from bridle.hosts.hooks.stop_hook import answer

        return answer(self, call)

    def handle_session_start_hook(self, call: HookCall) -> Answer:
        """Make a session known."""
        from bridle.hosts.hooks.session_start import answer

        return answer(self, call)

    def find_hook_dispatcher(self, start: Path, environ: Mapping[str, str]) -> Path | None:
        """The script of the other implementation's plugin that runs native hooks, where one is installed."""
        if not self.has_dispatcher:
            return None
        root = self.resolve_plugin_root(None, environ)
        candidates = [Path(root) / DISPATCHER] if root else []
        candidates += [folder / DISPATCHER_IN_PROJECT for folder in (start, *start.parents)]
        return next((candidate for candidate in candidates if candidate.is_file()), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
