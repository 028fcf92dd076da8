"""The agent of a log: which one it is, whether it still runs, and how it has ended."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground.descendants import census
from bridle.run.log_meta import STDERR_SUFFIX, LogMeta, read_meta, read_stderr_end, sidecar_path
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT
from bridle.wire.record.outcome import STDERR_TAIL_BYTES, Ending


def read_meta_if_possible(log: Path) -> LogMeta:
    """Read the file beside a log; one that cannot be read counts as missing."""
    try:
        return read_meta(log)
    except DiskError:
        return LogMeta()


def agent_of(log: Path) -> str:
    """Return the agent named in the file beside a log, or the default."""
    return read_meta_if_possible(log).agent or DEFAULT_AGENT


def is_over(log: Path) -> bool:
    """Return whether the agent of a log has ended, as far as the file beside it says."""
    meta = read_meta_if_possible(log)
    return meta.is_ended or (meta.pid is not None and not _is_alive(meta.pid))


def ending_of(log: Path) -> tuple[Ending | None, bool]:
    """Return how the agent of a log has ended, None where that is not known, and whether it is still running."""
    meta, stderr = read_meta_if_possible(log), _stderr_of(log)
    if meta.is_ended:
        return replace(meta.ending, stderr=stderr), False
    if meta.pid is not None:
        lost = Ending(exit_code=None, stderr=stderr, fault="Bridle was killed while the agent was running")
        return (None, True) if _is_alive(meta.pid) else (lost, False)
    return Ending(exit_code=None, stderr=stderr) if stderr.strip() else None, False


def _stderr_of(log: Path) -> str:
    """Return the end of the agent's standard error, in whole lines: half a secret is not masked."""
    path = sidecar_path(log, STDERR_SUFFIX)
    try:
        text = read_stderr_end(path)
        return text.partition("\n")[2] if path.stat().st_size > STDERR_TAIL_BYTES else text
    except OSError:
        return ""


def _is_alive(pid: int) -> bool:
    process = census.find_process(pid)
    return process is not None and process.is_alive
