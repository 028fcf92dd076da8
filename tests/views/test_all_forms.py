"""Every recording is shown without an error by terminal, Markdown, JSON and HTML: every item and every text in each."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bridle.views.export.export_source import ExportedLog, ExportSource
from bridle.views.export.html_file import html_pieces
from bridle.views.export.json_file import json_pieces
from bridle.views.export.markdown_file import markdown_pieces
from bridle.views.export.size_limit import SizeLimit
from bridle.views.log_chunks import Log
from bridle.views.read_conversation import Conversation
from bridle.views.run_data.log_ending import ending_of
from bridle.views.terminal.conversation import PlainView
from bridle.views.terminal.page import DisplayOptions
from bridle.wire.mask import Mask
from bridle.wire.transcript.transcript import Transcript
from tests.views.fixtures.exported_page import page_document
from tests.views.fixtures.shown_texts import all_items, missing_texts

RECORDINGS = Path(__file__).parents[1] / "recordings"
CLAUDE = "claude-2.1.197"
LOGS = sorted(path for path in RECORDINGS.rglob("*") if path.suffix in (".ndjson", ".jsonl"))


def agent_of(path: Path) -> str:
    folder = path.relative_to(RECORDINGS).parts[0]
    return "claude" if folder == CLAUDE else folder


def terminal(transcript: Transcript) -> str:
    out = io.StringIO()
    PlainView(transcript, Mask(), DisplayOptions(full=True, guide="| "), out).finish()
    return out.getvalue()


def exported(path: Path) -> ExportSource:
    return ExportSource(logs=(ExportedLog(path, "log", path.name, agent=agent_of(path)),), version="1", at=0.0)


def joined(pieces: Iterable[bytes]) -> str:
    return b"".join(pieces).decode()


def texts_in(value: Any) -> str:
    """Return all texts of a JSON value."""
    if isinstance(value, dict):
        return "\n".join(texts_in(member) for member in value.values())
    return "\n".join(map(texts_in, value)) if isinstance(value, list) else str(value)


def ids_in(items: list[dict[str, Any]]) -> list[int]:
    return [number for item in items for number in (item["id"], *ids_in(item.get("items", [])))]


def read_transcript(path: Path) -> Transcript:
    """Read the conversation of a recording to its end."""
    conversation = Conversation(agent_of(path), Mask())
    with Log(path) as log:
        conversation.add(log.chunks())
    conversation.end(ending_of(path)[0])
    return conversation.transcript


def test_there_are_recordings_of_every_agent() -> None:
    assert {agent_of(path) for path in LOGS} == {"claude", "codex", "gemini", "opencode", "cursor", "amp"}
    assert len([path for path in LOGS if agent_of(path) == "claude"]) >= 140


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(RECORDINGS)))
def test_every_form_has_every_item_and_every_text(path: Path) -> None:
    transcript = read_transcript(path)
    ids = sorted(item.id for item in all_items(transcript))
    assert ids, "an empty conversation proves nothing"

    assert missing_texts(transcript, terminal(transcript)) == []

    markdown = joined(markdown_pieces(exported(path), Mask(), SizeLimit(), lambda _: None))
    assert missing_texts(transcript, markdown) == []
    assert sorted(map(int, re.findall(r"^(?:> )*#### (\d+) · ", markdown, re.MULTILINE))) == ids

    document = json.loads(joined(json_pieces(exported(path), Mask(), SizeLimit(), lambda _: None)))
    (conversation,) = document["conversations"]
    assert missing_texts(transcript, texts_in(conversation)) == []
    assert sorted(ids_in(conversation["items"])) == ids
    assert document["omitted"] == []

    page = page_document(joined(html_pieces(exported(path), Mask(), SizeLimit(), lambda _: None)))
    kept = page["logs"]["file"]["log"]
    assert missing_texts(transcript, texts_in(kept)) == []
    assert sorted(item["id"] for item in kept["items"]) == ids
    assert {name: number for name, number in kept["totals"].items() if number} == {
        thread or "": len(transcript.items(thread)) for thread in transcript.threads if transcript.items(thread)
    }
