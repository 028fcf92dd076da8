"""A session file's text, in both directions. What is wrong in it is survived; see `session_file`. No I/O."""

from __future__ import annotations

from bridle.errors import UsageError
from bridle.ground import ids
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.moments import epoch_seconds
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, TIMES_LIMIT, Session, SessionFile

# Seven short lines; a file whose frontmatter does not end within this has none.
FRONTMATTER_LIMIT_BYTES = 64 * 1024

# Numbers beyond this one cannot be told exactly to programs that know only floating point.
NUMBER_LIMIT = 2**53 - 1

# Moments are 20 characters long; anything much longer is not one.
MOMENT_LIMIT_CHARACTERS = 64

_FENCE = b"---"
_BOM = b"\xef\xbb\xbf"


def parse(path: Path, data: bytes) -> SessionFile:
    """What a session file says, whatever is in it."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    lines, end = _fenced(data, start)
    if lines is None:
        return SessionFile(path, Session(), data, ("it has no whole frontmatter between two lines of ---",))
    faults: list[str] = []
    return SessionFile(path, _session(_fields(lines, faults), faults), data[end:], tuple(faults))


def render(file: SessionFile) -> bytes:
    """The whole text of a session file."""
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


def _fenced(data: bytes, start: int) -> tuple[list[bytes] | None, int]:
    """The lines between the fences, and where the body begins."""
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
            break  # text before the first fence: a document of somebody else
    return None, 0


def _fields(lines: list[bytes], faults: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        name, value = name.strip(), value.strip()
        if not colon:
            if name:
                faults.append(f"a line of its frontmatter has no colon: {name[:40]!a}")
            continue
        if name in fields:
            faults.append(f"{name[:40]!a} is there twice; the last one counts")
        is_quoted = len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]
        fields[name] = value[1:-1] if is_quoted else value
    return fields


def _session(fields: Mapping[str, str], faults: list[str]) -> Session:
    return Session(
        active=_truth(fields, "active", faults),
        iteration=_number(fields, "iteration", 1, faults),
        max_iterations=_number(fields, "max_iterations", DEFAULT_MAX_ITERATIONS, faults),
        run_id=_run_id(fields, faults),
        started_at=_moment(fields, "started_at", faults),
        last_iteration_at=_moment(fields, "last_iteration_at", faults),
        iteration_times=_times(fields, faults),
    )


def _truth(fields: Mapping[str, str], name: str, faults: list[str]) -> bool:
    text = fields.get(name, "").lower()
    if text not in ("true", "false"):
        faults.append(f"{name} is neither true nor false")
    return text == "true"


def _number(fields: Mapping[str, str], name: str, default: int, faults: list[str]) -> int:
    number = count(fields.get(name, ""))
    if number is None:
        faults.append(f"{name} is no whole number from 0 to {NUMBER_LIMIT}")
        return default
    return number


def count(text: str) -> int | None:
    """A number that a session file can hold; None for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_LIMIT))):
        return None
    return number if (number := int(text)) <= NUMBER_LIMIT else None


def _run_id(fields: Mapping[str, str], faults: list[str]) -> str:
    text = fields.get("run_id", "")
    try:
        return ids.check_id(text, what="run_id") if text else ""
    except UsageError as error:
        faults.append(error.message)
        return ""


def _moment(fields: Mapping[str, str], name: str, faults: list[str]) -> str:
    text = fields.get(name, "")
    if is_moment(text) or not text:
        return text
    faults.append(f"{name} is no moment such as 2026-03-02T10:00:00Z")
    return ""


def is_moment(text: str) -> bool:
    """Whether a session file can hold the text as a moment."""
    return len(text) <= MOMENT_LIMIT_CHARACTERS and epoch_seconds(text) is not None


def _times(fields: Mapping[str, str], faults: list[str]) -> tuple[int, ...]:
    numbers, are_all_good = durations(fields.get("iteration_times", ""))
    if not are_all_good:
        faults.append("iteration_times has something other than numbers of seconds")
    return numbers


def durations(text: str) -> tuple[tuple[int, ...], bool]:
    """The last durations of a list with commas, and whether all of it could be used."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    numbers = [number for number in map(count, parts) if number]
    return tuple(numbers[-TIMES_LIMIT:]), len(numbers) == len(parts)
