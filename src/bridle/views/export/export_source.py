"""What an export is of: one log, or a run with the logs of its agents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from bridle.errors import UsageError
from bridle.ground import disk
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_ending import agent_of
from bridle.views.run_data.log_list import list_logs
from bridle.views.run_data.run_logs import logs_of_run
from bridle.wire.mask import Mask
from bridle.wire.transcript.transcript import KEPT_CHARACTERS

LOG_OF_FILE = "log"
FILE = "file"

Progress = Callable[[str], None]


class ExportedLog(Struct, frozen=True):
    """A log of an export."""

    path: Path
    id: str
    """Its name in the export, unique within it."""
    title: str = ""
    task: str | None = None
    iteration: int | None = None
    attempt: int = 1
    agent: str | None = None
    """As the user names it; else the file beside the log does."""


class ExportSource(Struct, frozen=True, kw_only=True):
    """What is exported."""

    logs: tuple[ExportedLog, ...]
    run: Path | None = None
    version: str
    """That of Bridle."""
    at: float
    """When it was exported."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The id of its run; of a log, `file`."""
        return FILE if self.run is None else self.run.name

    @property
    def title(self) -> str:
        """Its name in one line."""
        return self.logs[0].path.name if self.run is None else f"run {self.run.name}"


def export_of_log(
    path: Path, agent: str | None, *, version: str, at: float, environment: Mapping[str, str]
) -> ExportSource:
    """Return the export of one log; raise a UsageError where it cannot be read."""
    try:
        os.close(disk.open_regular(path))  # a named pipe would block, and a device has no end
    except OSError as error:
        raise _unreadable(path, error) from error
    log = ExportedLog(path.resolve(), LOG_OF_FILE, path.name, agent=agent)
    return ExportSource(logs=(log,), version=version, at=at, environment=environment)


def export_of_run(run: Path, *, version: str, at: float, environment: Mapping[str, str]) -> ExportSource:
    """Return the export of a run with all its logs."""
    logs = tuple(
        ExportedLog(
            listed.path,
            listed.id,
            listed.named.title,
            listed.named.task or None,
            listed.named.iteration,
            listed.named.attempt,
        )
        for listed in list_logs(logs_of_run(run))
    )
    return ExportSource(run=run, logs=logs, version=version, at=at, environment=environment)


def read_conversations(
    source: ExportSource, mask: Mask, progress: Progress
) -> Iterator[tuple[ExportedLog, FollowedLog]]:
    """Yield each log as it is now, one at a time: a run's logs together may not fit into memory."""
    for number, log in enumerate(source.logs, start=1):
        progress(f"reading conversation {number} of {len(source.logs)}")
        followed = FollowedLog(log.path, log.agent or agent_of(log.path), mask, kept_characters=KEPT_CHARACTERS)
        try:
            while followed.read_new():
                progress(f"reading conversation {number} of {len(source.logs)}: {followed.position:,} bytes")
        except OSError as error:
            raise _unreadable(log.path, error) from error
        yield log, followed
        followed.close()


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot read {path}: {error.strerror or error}", remedy="Name the log of an agent run.")
