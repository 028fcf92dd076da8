"""The data of an exported page besides its conversations: board, run, journal and diffs, as the server answers them."""

from __future__ import annotations

from bridle.errors import UsageError
from bridle.views.export.export_source import ExportSource
from bridle.views.export.run_part import RunPart
from bridle.views.run_data.log_ending import read_meta_if_possible
from bridle.views.run_data.log_list import ListedLog, log_document, read_tail
from bridle.views.run_data.run_card import unreadable_card
from bridle.views.run_data.run_logs import NamedLog
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask


def page_data(source: ExportSource, part: RunPart | None, mask: Mask) -> JsonObject:
    """Return the members of the page's document; a log is shown as a run that has only it."""
    page = _page_of_log(source, mask) if part is None else part.page | {"needs": []}
    repository = source.logs[0].path.parent if part is None else part.repository
    board = {
        "version": source.version,
        "repository": {"path": mask.apply(str(repository)), "name": mask.apply(repository.name)},
        "runs": [page["card"]],
        "needs": [],
        "sessions": [],
        "now": source.at,
    }
    name = source.name
    return {
        "board": board,
        "runs": {name: page},
        "journal": {name: [] if part is None else part.journal},
        "diffs": {name: {} if part is None else part.diffs},
    }


def _page_of_log(source: ExportSource, mask: Mask) -> JsonObject:
    (log,) = source.logs
    document = log_document(ListedLog(log.id, NamedLog(log.path, agent=log.agent or "")), mask)
    record = read_tail(log.path, read_meta_if_possible(log.path))
    card = unreadable_card(log.path, UsageError(""), mask)
    card |= {
        "run": source.name,
        "plan": mask.apply(log.path.name),
        "state": "failed" if record.has_failed or not record.results else "done",
        "cost_usd": document["cost_usd"],
        "started_at": document["started_at"],
        "ended_at": document["ended_at"] or log.path.stat().st_mtime,
        "seconds": (record.duration_ms or 0) / 1000,
        "input_tokens": record.tokens.all_input,
        "output_tokens": record.tokens.output_tokens,
    }
    return {
        "card": card,
        "receipt": None,
        "receipt_markdown": None,
        "journal": {"count": 0, "head": None},
        "logs": [document],
        "commits": [],
        "checks": [],
        "charts": {},
        "needs": [],
    }
