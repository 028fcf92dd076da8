"""A host's session and its file: values, parser and renderer. Faulty fields get defaults. No I/O."""

from __future__ import annotations

from bridle.errors import UsageError
from bridle.ground import ids
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.moments import epoch_seconds, iso
from bridle.ground.light.quick_path import Path

DEFAULT_MAX_ITERATIONS = 65_000

# The file keeps this many durations, for users who read it.
TIMES_LIMIT = 3

# Seven short lines; frontmatter that does not end within this is treated as missing.
FRONTMATTER_LIMIT_BYTES = 64 * 1024

# JavaScript programs cannot represent larger integers exactly.
NUMBER_LIMIT = 2**53 - 1

# Times are 20 characters long; a much longer text is not a time.
MOMENT_LIMIT_CHARACTERS = 64

_FENCE = b"---"
_BOM = b"\xef\xbb\xbf"


class Session:
    """The seven fields of a session file; immutable."""

    __slots__ = (
        "active",
        "iteration",
        "iteration_times",
        "last_iteration_at",
        "max_iterations",
        "run_id",
        "started_at",
    )

    def __init__(
        self,
        *,
        active: bool = False,
        iteration: int = 1,
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
        run_id: str = "",
        started_at: str = "",
        last_iteration_at: str = "",
        iteration_times: tuple[int, ...] = (),
    ) -> None:
        self.active = active
        self.iteration = iteration
        """Counted from 1."""
        self.max_iterations = max_iterations
        """0 means unlimited."""
        self.run_id = run_id
        """Empty if the session is not bound to a run; otherwise safe in a path."""
        self.started_at = started_at
        self.last_iteration_at = last_iteration_at
        self.iteration_times = iteration_times
        """The durations of the last iterations in seconds, three at most."""

    @property
    def is_spent(self) -> bool:
        """Return whether the limit of iterations is reached."""
        return self.max_iterations > 0 and self.iteration >= self.max_iterations

    def changed(
        self,
        *,
        active: bool | None = None,
        iteration: int | None = None,
        max_iterations: int | None = None,
        run_id: str | None = None,
        started_at: str | None = None,
        last_iteration_at: str | None = None,
        iteration_times: tuple[int, ...] | None = None,
    ) -> Session:
        """Return a copy with some fields changed."""
        return Session(
            active=self.active if active is None else active,
            iteration=self.iteration if iteration is None else iteration,
            max_iterations=self.max_iterations if max_iterations is None else max_iterations,
            run_id=self.run_id if run_id is None else run_id,
            started_at=self.started_at if started_at is None else started_at,
            last_iteration_at=self.last_iteration_at if last_iteration_at is None else last_iteration_at,
            iteration_times=self.iteration_times if iteration_times is None else iteration_times,
        )

    def advanced(self, now: str) -> Session:
        """Return the session one iteration later."""
        return self.changed(iteration=self.iteration + 1, last_iteration_at=now, iteration_times=self.times_until(now))

    def times_until(self, now: str) -> tuple[int, ...]:
        """Return the durations including the one that ends now."""
        before, after = epoch_seconds(self.last_iteration_at), epoch_seconds(now)
        if before is None or after is None or after <= before:
            return self.iteration_times
        return (*self.iteration_times, after - before)[-TIMES_LIMIT:]


class SessionFile:
    """A session file; immutable."""

    __slots__ = ("body", "faults", "path", "session")

    def __init__(self, path: Path, session: Session, body: bytes, faults: tuple[str, ...] = ()) -> None:
        self.path = path
        self.session = session
        self.body = body
        """The text below the frontmatter, byte for byte."""
        self.faults = faults
        """Descriptions of faulty fields; empty for a file that Bridle wrote."""

    @property
    def prompt(self) -> str:
        """Return the text below the frontmatter, stripped."""
        return self.body.decode("utf-8", "replace").strip()

    def with_session(self, session: Session) -> SessionFile:
        """Return the same file with another session."""
        return SessionFile(self.path, session, self.body)


def new_file(path: Path, session: Session, prompt: str) -> SessionFile:
    """Return a new session file, not yet written."""
    return SessionFile(path, session, f"\n{prompt}\n".encode("utf-8", "surrogateescape"))


def new_session(now: str, *, run_id: str = "", max_iterations: int = DEFAULT_MAX_ITERATIONS) -> Session:
    """Return an active session that starts now."""
    return Session(active=True, max_iterations=max_iterations, run_id=run_id, started_at=now, last_iteration_at=now)


def moment(nanoseconds: int) -> str:
    """Format a time as session files have it: whole seconds."""
    return iso(nanoseconds)[: -len(".000Z")] + "Z"


def parse(path: Path, data: bytes) -> SessionFile:
    """Parse a session file; never fail."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    lines, end = _split_frontmatter(data, start)
    if lines is None:
        return SessionFile(path, Session(), data, ("the frontmatter must be between two lines of ---",))
    faults: list[str] = []
    return SessionFile(path, _build_session(_parse_fields(lines, faults), faults), data[end:], tuple(faults))


def render(file: SessionFile) -> bytes:
    """Return the text of a session file."""
    session = file.session
    times = ",".join(map(str, session.iteration_times[-TIMES_LIMIT:]))
    lines = (
        "---",
        f"active: {'true' if session.active else 'false'}",
        f"iteration: {session.iteration}",
        f"max_iterations: {session.max_iterations}",
        f'run_id: "{session.run_id}"',
        f'started_at: "{session.started_at}"',
        f'last_iteration_at: "{session.last_iteration_at}"',
        f"iteration_times: {times}",
        "---",
        "",
    )
    return "\n".join(lines).encode() + file.body


def _split_frontmatter(data: bytes, start: int) -> tuple[list[bytes] | None, int]:
    """Return the lines between the fences, and the offset of the body."""
    lines: list[bytes] | None = None
    limit = start + FRONTMATTER_LIMIT_BYTES
    while start < min(limit, len(data)):
        newline = data.find(b"\n", start)
        end = len(data) if newline < 0 else newline + 1
        line = data[start : min(end, limit)].strip()
        start = end
        if lines is not None and line == _FENCE:
            return lines, end
        if lines is not None:
            lines.append(line)
        elif line == _FENCE:
            lines = []
        elif line:
            break  # text before the first fence: not a session file
    return None, 0


def _parse_fields(lines: list[bytes], faults: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        name, value = name.strip(), value.strip()
        if not colon:
            if name:
                faults.append(f"a frontmatter line must have a colon, got {name[:40]!a}")
            continue
        if name in fields:
            faults.append(f"{name[:40]!a} occurs twice; the last value is used")
        is_quoted = len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]
        fields[name] = value[1:-1] if is_quoted else value
    return fields


def _build_session(fields: Mapping[str, str], faults: list[str]) -> Session:
    return Session(
        active=_parse_bool(fields, "active", faults),
        iteration=_parse_number(fields, "iteration", 1, faults),
        max_iterations=_parse_number(fields, "max_iterations", DEFAULT_MAX_ITERATIONS, faults),
        run_id=_parse_run_id(fields, faults),
        started_at=_parse_moment(fields, "started_at", faults),
        last_iteration_at=_parse_moment(fields, "last_iteration_at", faults),
        iteration_times=_parse_times(fields, faults),
    )


def _parse_bool(fields: Mapping[str, str], name: str, faults: list[str]) -> bool:
    text = fields.get(name, "").lower()
    if text not in ("true", "false"):
        faults.append(f"{name} must be true or false, got {text[:40]!a}")
    return text == "true"


def _parse_number(fields: Mapping[str, str], name: str, default: int, faults: list[str]) -> int:
    text = fields.get(name, "")
    number = parse_count(text)
    if number is None:
        faults.append(f"{name} must be an integer from 0 to {NUMBER_LIMIT}, got {text[:40]!a}")
        return default
    return number


def parse_count(text: str) -> int | None:
    """Parse a number as session files have it; None for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_LIMIT))):
        return None
    return number if (number := int(text)) <= NUMBER_LIMIT else None


def _parse_run_id(fields: Mapping[str, str], faults: list[str]) -> str:
    text = fields.get("run_id", "")
    try:
        return ids.check_id(text, what="run_id") if text else ""
    except UsageError as error:
        faults.append(error.message)
        return ""


def _parse_moment(fields: Mapping[str, str], name: str, faults: list[str]) -> str:
    text = fields.get(name, "")
    if is_moment(text) or not text:
        return text
    faults.append(f"{name} must be a time such as 2026-03-02T10:00:00Z, got {text[:40]!a}")
    return ""


def is_moment(text: str) -> bool:
    """Return whether the text is a time as session files have it."""
    return len(text) <= MOMENT_LIMIT_CHARACTERS and epoch_seconds(text) is not None


def _parse_times(fields: Mapping[str, str], faults: list[str]) -> tuple[int, ...]:
    numbers, is_valid = parse_durations(fields.get("iteration_times", ""))
    if not is_valid:
        faults.append("iteration_times must be integers separated by commas")
    return numbers


def parse_durations(text: str) -> tuple[tuple[int, ...], bool]:
    """Return the last durations of a comma-separated list, and whether all items are valid."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    numbers = [number for number in map(parse_count, parts) if number]
    return tuple(numbers[-TIMES_LIMIT:]), len(numbers) == len(parts)
