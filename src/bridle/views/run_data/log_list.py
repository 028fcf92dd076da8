"""The logs of a run, and those of no run, as JSON values: from the file beside each log and the end of the log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from bridle.ground import disk
from bridle.run import budget
from bridle.run.log_meta import LOG_SUFFIX, META_SUFFIX, LogMeta, sidecar_path
from bridle.views.run_data.conversation_pages import seconds_of
from bridle.views.run_data.log_ending import ending_of, read_meta_if_possible
from bridle.views.run_data.run_logs import NamedLog, RunLogs, logs_in
from bridle.wire.dialects.dialect_table import AGENTS, DEFAULT_AGENT, decoder_for
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

# The end of a log that is read for its result and its last text.
TAIL_BYTES = 64 * 1024
# Of a session's prompt, shown as its title.
_TITLE_CHARACTERS = 160
# Sessions of no run, the newest.
SESSIONS_SHOWN = 50


class ListedLog(Struct, frozen=True):
    """A log with its id, which is part of addresses and unique within its run."""

    id: str
    named: NamedLog
    number: int | None = None
    """That of its task."""

    @property
    def path(self) -> Path:
        return self.named.path


def list_logs(logs: RunLogs) -> list[ListedLog]:
    """Return the logs of a run in the order of their start."""
    numbers = {log.path: task.number for task in logs.tasks for log in task.logs}
    return [
        ListedLog(log_id, log, numbers.get(log.path)) for log_id, log in zip(_ids(logs.logs), logs.logs, strict=True)
    ]


def list_sessions(folders: Iterable[Path]) -> list[ListedLog]:
    """Return the newest logs of agents that no run has started, newest first."""
    paths = {path.resolve() for folder in folders for path in logs_in(folder)}
    found: list[NamedLog] = []
    for path in sorted(paths, key=lambda path: path.name, reverse=True):
        meta = read_meta_if_possible(path)
        if not meta.purpose:
            found.append(NamedLog(path, agent=meta.agent or ""))
        if len(found) == SESSIONS_SHOWN:
            break
    return [ListedLog(log_id, log) for log_id, log in zip(_ids(found), found, strict=True)]


def log_document(listed: ListedLog, mask: Mask) -> JsonObject:
    """Return what is known of a log without reading all of it."""
    log, meta = listed.named, read_meta_if_possible(listed.path)
    ending, is_running = ending_of(listed.path)
    record = read_tail(listed.path, meta)
    document = {
        "log": listed.id,
        "title": _title(meta, mask),
        "task": log.task or None,
        "number": listed.number,
        "iteration": log.iteration,
        "attempt": log.attempt,
        "agent": meta.agent or DEFAULT_AGENT,
        "session_id": meta.session_id or record.session_id,
        "model": record.model or meta.model,
        "mode": meta.mode,
        "started_at": seconds_of(meta.started),
        "ended_at": seconds_of(meta.ended),
        "is_running": is_running,
        "size_bytes": size_of(listed.path),
        "events": None,
        "items": None,
        "cost_usd": budget.cost_so_far(record, meta.agent or DEFAULT_AGENT, model=meta.model).usd
        if record.results
        else None,
        "outcome": None if not record.results else {"subtype": record.result_subtype, "failed": record.has_failed},
        "exit_code": None if ending is None else ending.exit_code,
        "fault": None if ending is None else ending.fault,
    }
    masked: JsonObject = mask.apply_to_json(document)
    return masked


def _title(meta: LogMeta, mask: Mask) -> str | None:
    """Return the beginning of the prompt in one line; secrets are masked before the cut."""
    line = " ".join(mask.apply(meta.prompt or "").split())
    return f"{line[:_TITLE_CHARACTERS]}…" if len(line) > _TITLE_CHARACTERS else line or None


def read_tail(path: Path, meta: LogMeta) -> Record:
    """Return the facts at the end of a log: its result is there, if it has one."""
    agent = meta.agent if meta.agent in AGENTS else DEFAULT_AGENT
    data = disk.read_part(path, TAIL_BYTES, from_end=True, follow_links=False) or b""
    whole = data if len(data) < TAIL_BYTES else data.partition(b"\n")[2]
    recorder, decoder = Recorder(), decoder_for(agent)
    recorder.add_all([*decoder.feed(whole), *decoder.end()])
    return recorder.record


def _ids(logs: Iterable[NamedLog]) -> list[str]:
    """Return a name for each log: that of its file, with a number where two worktrees have one of the same name."""
    known: dict[str, int] = {}
    ids: list[str] = []
    for log in logs:
        name = log.path.name.removesuffix(LOG_SUFFIX)
        known[name] = known.get(name, 0) + 1
        ids.append(name if known[name] == 1 else f"{name}~{known[name]}")
    return ids


def log_stamp(path: Path) -> tuple[int, int]:
    """Return what changes with each change of a log or of the file beside it."""
    return size_of(path), mtime_of(sidecar_path(path, META_SUFFIX))


def size_of(path: Path) -> int:
    """Return the size of a file; 0 if it is missing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def mtime_of(path: Path) -> int:
    """Return when a file or a folder has changed, in nanoseconds; 0 if it is missing."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
