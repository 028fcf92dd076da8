"""The file beside an agent's log: what was run and how it ended, so that the log can be judged again later.

Commands that read logs import this, so it must not import asyncio or subprocess.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from bridle.errors import DiskError
from bridle.ground import clock, disk
from bridle.ground.json_fields import JsonFields
from bridle.wire.events.loose_json import without_surrogates
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import STDERR_TAIL_BYTES, Ending, Rules, is_cut_short
from bridle.wire.record.policy import Policy
from bridle.wire.record.record import Record

LOG_SUFFIX = ".ndjson"
META_SUFFIX = ".meta.json"
STDERR_SUFFIX = ".stderr"
LOST = "interrupted, or not ended yet"  # the error of a run whose end Bridle did not see
TIMES_SUFFIX = ".times"
# Of a prompt, its beginning is kept: more than the longest secret, so that a title made of it shows no half of one.
PROMPT_CHARACTERS = 10_000
# The last line of a `.times` file: two numbers.
_LAST_LINE_BYTES = 64


class StartMeta(Struct, frozen=True, kw_only=True):
    """The fields that are written before the agent starts."""

    agent: str
    program: str
    program_found: str
    argv: list[str]
    cwd: str
    mode: str
    task: str
    prompt: str
    purpose: str | None
    model: str | None
    driver: str | None
    driver_seconds: float
    attempt: int
    auth: str
    permission_mode: str
    permissions_bypassed: bool
    sandbox: str | None
    policy: str
    hang_heuristic: bool
    background_heuristic: bool
    denials_fail: bool
    expected_session: str | None
    started: str
    pid: int


class EndMeta(Struct, frozen=True, kw_only=True):
    """The fields that are added once the agent has ended."""

    ended: str
    seconds: float
    exit_code: int | None
    timed_out: bool
    ended_by_us: bool
    killed_after_result: bool
    limit: str | None
    limit_seconds: float | None
    fault: str | None
    fault_category: str | None
    corrections: int
    agent_version: str | None
    session_id: str | None
    reported_permission_mode: str | None


class LogMeta(Struct, frozen=True):
    """What readers of a log need of these files; the defaults where a field is missing or not of its type."""

    agent: str | None = None
    mode: str | None = None
    prompt: str | None = None
    """The beginning of the prompt."""
    purpose: str | None = None
    model: str | None = None
    """The model that was requested."""
    pid: int | None = None
    """The Bridle that ran the agent; None where the file is missing."""
    driver: str | None = None
    driver_seconds: float = 0.0
    """How long the driver had run when it started the agent."""
    seconds: float = 0.0
    """How long the agent ran; where its Bridle was killed, until it printed last."""
    is_ended: bool = False
    is_lost: bool = False
    """Whether the run is described, but Bridle did not see its end: it was killed, or the run is not over."""
    ending: Ending = field(default_factory=Ending)
    rules: Rules = field(default_factory=Rules)
    stderr: Path | None = None
    """The file with the agent's standard error, where it exists."""
    started: str | None = None
    ended: str | None = None
    session_id: str | None = None

    def ending_of(self, record: Record) -> Ending:
        """Return how the run with this record ended; a result that the agent had printed counts."""
        if not self.is_lost:
            return self.ending
        if is_cut_short(record):
            return replace(self.ending, exit_code=None, fault=self.ending.fault or LOST)
        return replace(self.ending, exit_code=None, ended_by_us=True)


def write_meta(path: Path, start: StartMeta, end: EndMeta | None = None, **more: object) -> None:
    """Replace the file as a whole; `more` are fields that few runs have: `not_found`, `interrupted`."""
    fields = {**asdict(start), **more, **({} if end is None else asdict(end))}
    disk.write_json_atomic(path, without_surrogates(fields))


def read_meta(log: Path) -> LogMeta:
    """Read the file beside a log; return the defaults if it is missing.

    Raise DiskError where it cannot be read or is not a JSON object.
    """
    path, stderr = sidecar_path(log, META_SUFFIX), sidecar_path(log, STDERR_SUFFIX)
    if not os.path.isfile(path):  # also where the name is too long for a file
        return LogMeta()
    document = _read_document(path)
    fields, exit_code = JsonFields(document), document.get("exit_code", 0)
    return LogMeta(
        agent=fields.text("agent"),
        mode=fields.text("mode"),
        prompt=fields.text("prompt"),
        purpose=fields.text("purpose"),
        model=fields.text("model"),
        pid=int(fields.positive("pid") or 0) or None,
        driver=fields.text("driver"),
        driver_seconds=fields.positive("driver_seconds") or 0.0,
        seconds=fields.positive("seconds") or _last_output_seconds(log),
        is_ended="ended" in document,
        is_lost="exit_code" not in document or fields.flag("lost"),
        ending=Ending(
            exit_code=exit_code if isinstance(exit_code, int) and not isinstance(exit_code, bool) else None,
            timed_out=fields.flag("timed_out"),
            ended_by_us=fields.flag("ended_by_us"),
            expected_session=fields.text("expected_session"),
            not_found=fields.text("not_found"),
            fault=fields.text("fault"),
            fault_category=fields.member("fault_category", Category),
        ),
        rules=Rules(
            policy=fields.member("policy", Policy) or Policy.HARNESS,
            hang_heuristic=fields.flag("hang_heuristic", default=True),
            background_heuristic=fields.flag("background_heuristic", default=True),
            denials_fail=fields.flag("denials_fail", default=True),
        ),
        stderr=stderr if os.path.isfile(stderr) else None,
        started=fields.text("started"),
        ended=fields.text("ended"),
        session_id=fields.text("session_id"),
    )


def mark_lost(log: Path) -> None:
    """Write the end of a run whose Bridle was killed; its exit code is not known."""
    path = sidecar_path(log, META_SUFFIX)
    document = _read_document(path) if os.path.isfile(path) else {}
    disk.write_json_atomic(path, {**document, "ended": clock.iso(clock.now()), "exit_code": None, "lost": True})


def read_stderr_end(path: Path) -> str:
    """Return the end of a file with standard error, as much as a live run keeps. Raises OSError."""
    with path.open("rb") as stream:
        if stream.seekable():
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - STDERR_TAIL_BYTES))
        tail = b""
        while chunk := stream.read(STDERR_TAIL_BYTES):
            tail = (tail + chunk)[-STDERR_TAIL_BYTES:]
        return tail.decode("utf-8", "replace")


def sidecar_path(log: Path, suffix: str) -> Path:
    """Return the path of a file that belongs to a log."""
    return log.parent / (log.name.removesuffix(LOG_SUFFIX) + suffix)


def _last_output_seconds(log: Path) -> float:
    """Return when the agent printed last, after its start; 0 where the file of times does not say so."""
    try:
        # O_NONBLOCK: an agent may have put a named pipe there.
        fd = os.open(sidecar_path(log, TIMES_SUFFIX), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            words = os.pread(fd, _LAST_LINE_BYTES, max(0, os.fstat(fd).st_size - _LAST_LINE_BYTES)).split()
        finally:
            os.close(fd)
    except OSError:
        return 0.0
    return int(words[-1]) / 1000 if words and words[-1].isdigit() else 0.0


def _read_document(path: Path) -> dict[str, object]:
    document = disk.read_json(path)
    if not isinstance(document, dict):
        raise DiskError(f"{path} is not a JSON object", remedy="Remove it.")
    return document
