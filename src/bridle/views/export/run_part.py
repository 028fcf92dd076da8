"""What an export has of a run besides its conversations: card, receipt, checks, commits with diffs, journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import UsageError
from bridle.ground.git_folder import repository_top
from bridle.journal.stores.file_store import FileStore
from bridle.views.export.export_source import ExportSource
from bridle.views.export.size_limit import SizeLimit
from bridle.views.format_amounts import format_count
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.commits import commit_diff
from bridle.views.run_data.conversation_pages import WINDOW_LIMIT
from bridle.views.run_data.journal_entries import journal_window
from bridle.views.run_data.run_page import run_document
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

# The newest entries of a journal; a run of a week has fewer.
JOURNAL_ENTRIES = 20_000


class RunPart(Struct, frozen=True):
    """The parts of a run, with secrets masked."""

    page: JsonObject
    """As the web page of the run has it: card, receipt, logs, commits, checks, charts."""
    journal: list[JsonObject]
    diffs: dict[str, JsonObject]
    """By commit."""
    repository: Path


def read_run_part(source: ExportSource, mask: Mask, limit: SizeLimit) -> RunPart | None:
    """Read the run of an export; None for a log. Raise a UsageError where that is not possible."""
    run, environment = source.run, source.environment
    if run is None:
        return None
    board = Board(lambda: [run], environment, mask, repository_top(run.absolute()) or run)
    board.refresh()
    known = board.runs[run.name]
    if known.facts is None:
        raise UsageError(
            f"cannot read the run {run.name}: {known.card['reason']}", remedy=f"Run: bridle audit {run.name}"
        )
    page = run_document(known, environment, mask)
    journal = _journal(known.facts.store, mask, limit)
    return RunPart(page, journal, _diffs(known, environment, mask, limit), known.facts.repository)


def _journal(store: FileStore, mask: Mask, limit: SizeLimit) -> list[JsonObject]:
    count = store.state().position.seq
    first = max(1, count - JOURNAL_ENTRIES + 1)
    if first > 1:
        limit.omit(f"the first {format_count(first - 1, 'entry')} of the journal")
    windows = (journal_window(store, start, WINDOW_LIMIT, mask) for start in range(first, count + 1, WINDOW_LIMIT))
    return [entry for window in windows for entry in window["entries"]]


def _diffs(known: KnownRun, environment: Mapping[str, str], mask: Mask, limit: SizeLimit) -> dict[str, JsonObject]:
    """Return the diff of each commit that still fits; git has the others."""
    facts = known.facts
    commits = () if facts is None or facts.receipt is None else facts.receipt.commits
    diffs: dict[str, JsonObject] = {}
    for commit in commits:
        diff = None if facts is None else commit_diff(facts.repository, commit, environment, mask)
        if diff is None:
            limit.omit(f"the diff of commit {commit}, which git does not have any more")
        elif not limit.take(_size(diff)):
            limit.omit(f"the diff of commit {commit}")
        else:
            diffs[commit] = diff
    return diffs


def _size(diff: JsonObject) -> int:
    """Return about how many bytes a diff takes."""
    return sum(len(line[3]) + 20 for file in diff["files"] for hunk in file["hunks"] for line in hunk["lines"])
