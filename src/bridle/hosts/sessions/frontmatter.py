"""Parse and render session files. Faulty fields get defaults; see `session_file`. No I/O."""

from __future__ import annotations

from bridle.errors import UsageError
from bridle.ground import ids
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.moments import epoch_seconds
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, TIMES_LIMIT, Session, SessionFile

# Seven short lines; frontmatter that does not end within this is treated as missing.
FRONTMATTER_LIMIT_BYTES = 64 * 1024

# JavaScript programs cannot represent larger integers exactly.
NUMBER_LIMIT = 2**53 - 1

# Times are 20 characters long; a much longer text is not a time.
MOMENT_LIMIT_CHARACTERS = 64

_FENCE = b"---"
_BOM = b"\xef\xbb\xbf"


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
