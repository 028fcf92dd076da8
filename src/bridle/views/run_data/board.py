"""All runs that a view shows, with their cards and needs: read again only where something has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bridle.engine.drive.driver_lock import find_driver
from bridle.ground.git_folder import repository_top
from bridle.ground.own_runs import begun_below
from bridle.journal.format import layout
from bridle.journal.stores.find_run import newest_runs
from bridle.run.read_log import LogReader
from bridle.views.run_data.log_list import (
    ListedLog,
    list_logs,
    list_sessions,
    log_document,
    log_stamp,
    mtime_of,
    size_of,
)
from bridle.views.run_data.needs import needs_of
from bridle.views.run_data.run_card import RunFacts, card_of, read_facts, unreadable_card
from bridle.views.run_data.run_logs import LOGS, WORKTREES, logs_of_run
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

# Cards of older runs would cost more to read than a user looks at.
RUNS_SHOWN = 100
# A card whose agent only prints is made again once a second; a journal entry is shown at the next look.
_PRINTING_SECONDS = 1.0
# A long journal takes long to read. This many times as long nothing is read, so that it costs a tenth of a processor.
_PAUSE_FACTOR = 10


def list_runs(folders: Sequence[Path], top: Path, home: Path) -> list[Path]:
    """Return the runs in these folders and those that the user has begun below a folder, newest first."""
    found = [Path(run) for run in newest_runs(*folders)]
    known = {os.path.realpath(run) for run in found}
    found += [run for run in begun_below(top, home) if os.path.realpath(run) not in known]
    return sorted(found, key=_created, reverse=True)[:RUNS_SHOWN]


class KnownRun(Struct):
    """A run with what was read of it last."""

    folder: Path
    card: JsonObject = field(default_factory=dict)
    needs: list[JsonObject] = field(default_factory=list)
    facts: RunFacts | None = None
    """None for a run that cannot be read."""
    logs: list[ListedLog] = field(default_factory=list)
    version: int = 0
    """Grows with each change of the card or the needs."""
    stamps: tuple[Any, ...] = ()
    log_stamps: tuple[Any, ...] = ()
    size: int = 0
    read_at: float = 0.0
    read_seconds: float = 0.0
    """How long the last reading took."""
    documents: dict[str, tuple[Any, JsonObject]] = field(default_factory=dict)
    """The documents of its logs, each with what it was read from."""
    commits: dict[str, JsonObject] = field(default_factory=dict)
    """The documents of its commits that git was asked for, by id."""

    def copy(self) -> KnownRun:
        """Return the run as it is now, for work during which the board reads it again; both share what is cached."""
        return copy(self)

    def log_documents(self, mask: Mask) -> dict[str, JsonObject]:
        """Return the document of each log by its id; those of logs that have ended are read once."""
        for log in self.logs:
            stamp = log_stamp(log.path)
            known = self.documents.get(log.id)
            if known is None or known[0] != stamp or known[1]["is_running"]:
                self.documents[log.id] = stamp, log_document(log, mask)
        return {log.id: self.documents[log.id][1] for log in self.logs}


class Board:
    """The runs of a repository or of a machine. Not for several threads at once."""

    def __init__(self, runs: Callable[[], list[Path]], environment: Mapping[str, str], mask: Mask, top: Path) -> None:
        self._list = runs
        self._environment = environment
        self._mask = mask
        self._top = top
        self._reader = LogReader()
        self.runs: dict[str, KnownRun] = {}
        """By id, newest first."""
        self.sessions: list[ListedLog] = []
        self._session_stamps: tuple[Any, ...] = ()
        self._stamps: dict[Path, tuple[Any, ...]] = {}
        """When the folders of logs in each place have changed, as of the last look: many runs share a place."""

    def refresh(self) -> None:
        """Look for new runs, and read those again that have changed."""
        listed = {run.name: run for run in reversed(self._list())}  # of two with one id the newest
        for run_id in reversed(listed):
            self.runs.setdefault(run_id, KnownRun(listed[run_id]))
        self.runs = {run_id: self._current(run_id, listed[run_id]) for run_id in reversed(listed)}
        self._stamps.clear()
        for known in self.runs.values():
            self._update(known)
        stamps = self._log_stamps(self._top)
        if stamps != self._session_stamps:
            self._session_stamps, self.sessions = stamps, list_sessions([self._top])

    def refresh_one(self, run_id: str) -> KnownRun | None:
        """Return a run as it is now; None if the id is unknown."""
        known = self.runs.get(run_id)
        if known is not None:
            self._stamps.clear()
            self._update(known)
        return known

    @property
    def needs(self) -> list[JsonObject]:
        """What all runs need from the user."""
        return [need for known in self.runs.values() for need in known.needs]

    def _current(self, run_id: str, folder: Path) -> KnownRun:
        known = self.runs[run_id]
        return known if known.folder == folder else KnownRun(folder, version=known.version + 1)

    def _update(self, known: KnownRun) -> None:
        driver = find_driver(known.folder)
        stamps = (mtime_of(known.folder / layout.JOURNAL), None if driver is None else driver.pid)
        log_stamps = self._stamps_of(known.facts)
        size = 0 if driver is None or not known.logs else size_of(known.logs[-1].path)
        is_printing = size != known.size and time.monotonic() - known.read_at > _PRINTING_SECONDS
        if known.version and stamps == known.stamps and log_stamps == known.log_stamps and not is_printing:
            return
        has_same_driver = known.version and stamps[1] == known.stamps[1]
        if has_same_driver and time.monotonic() - known.read_at < _PAUSE_FACTOR * known.read_seconds:
            return  # the next look reads it
        before, began = (known.card, known.needs), time.monotonic()
        known.stamps, known.size = stamps, size
        self._read(known)
        known.read_at = time.monotonic()
        known.read_seconds = known.read_at - began
        known.log_stamps = self._stamps_of(known.facts)
        if (known.card, known.needs) != before:
            known.version += 1

    def _stamps_of(self, facts: RunFacts | None) -> tuple[Any, ...]:
        """Return when the folders in which a run's agents log have changed."""
        if facts is None:
            return ()
        top = repository_top(facts.run.absolute()) or facts.run
        return self._log_stamps(facts.repository) + (() if top == facts.repository else self._log_stamps(top))

    def _log_stamps(self, place: Path) -> tuple[Any, ...]:
        if place not in self._stamps:
            self._stamps[place] = _folder_stamps(place)
        return self._stamps[place]

    def _read(self, known: KnownRun) -> None:
        try:
            known.facts = read_facts(known.folder, self._environment, self._reader)
            if not known.logs or known.log_stamps != self._stamps_of(known.facts):
                known.logs = list_logs(logs_of_run(known.folder))
            known.card = card_of(known.facts, self._mask)
            known.needs = needs_of(known.facts, self._mask)
        except Exception as error:  # noqa: BLE001  # a run that came with a repository can contain anything
            known.facts, known.needs, known.card = None, [], unreadable_card(known.folder, error, self._mask)


def _folder_stamps(place: Path) -> tuple[Any, ...]:
    """Return when the folders of logs in a place have changed: a log that begins or ends changes its folder."""
    folders = (place, *sorted((place / WORKTREES).glob("*")))
    return tuple((str(folder), mtime_of(folder / LOGS)) for folder in folders)


def _created(run: Path) -> int:
    return mtime_of(run / layout.RUN_FILE)
