"""An export as one JSON document, in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bridle.views.conversation_json import figures_document, item_document, thread_names
from bridle.views.export.export_source import ExportedLog, ExportSource, Progress, read_conversations
from bridle.views.export.run_part import RunPart, read_run_part
from bridle.views.export.size_limit import SizeLimit
from bridle.views.format_amounts import format_count
from bridle.views.run_data.followed_log import FollowedLog
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of

FORMAT, VERSION = "bridle-export", 1


def json_pieces(source: ExportSource, mask: Mask, limit: SizeLimit, progress: Progress) -> Iterator[bytes]:
    """Yield the document; what does not fit is named in `omitted`, its last member."""
    head = {"format": FORMAT, "version": VERSION, "bridle": source.version, "exported_at": source.at}
    part = read_run_part(source, mask, limit)
    yield encode(head | ({"run": None} if part is None else _run(source.name, part)))[:-1] + b',"conversations":['
    for index, (log, followed) in enumerate(read_conversations(source, mask, progress)):
        yield b"," if index else b""
        yield encode(mask.apply_to_json(_about(log)))[:-1] + b',"items":['
        yield from _items(log, followed, mask, limit)
        facts = {"threads": thread_names(followed.transcript, mask)}
        yield b"]," + encode(facts | figures_document(gauge_of(followed.recorder.record), mask))[1:]
    yield b'],"omitted":' + encode(limit.omitted) + b"}\n"


def encode(value: Any) -> bytes:
    """Encode a JSON value without spaces; characters that no text can have become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _run(name: str, part: RunPart) -> JsonObject:
    commits = [{**commit, "diff": part.diffs.get(commit["commit"])} for commit in part.page["commits"]]
    kept = {key: part.page[key] for key in ("card", "receipt", "checks", "charts")}
    return {"run": name, **kept, "commits": commits, "journal": part.journal}


def _about(log: ExportedLog) -> dict[str, Any]:
    facts = {"log": log.id, "path": str(log.path), "title": log.title}
    return facts | {"task": log.task, "iteration": log.iteration, "attempt": log.attempt}


def _items(log: ExportedLog, followed: FollowedLog, mask: Mask, limit: SizeLimit) -> Iterator[bytes]:
    items = followed.transcript.items()
    for index, item in enumerate(items):
        piece = encode(item_document(followed.transcript, item, mask))
        if not limit.take(len(piece)):
            rest = format_count(len(items) - index, "item")
            limit.omit(mask.apply(f"{rest} of {log.title or log.path.name}, its log is {log.path}"))
            return
        yield b"," + piece if index else piece
