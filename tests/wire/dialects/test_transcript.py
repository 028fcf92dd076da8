"""The conversation of another agent reads like one of Claude Code."""

from __future__ import annotations

from bridle.wire.transcript.items import AnyItem, Notice, TextItem, Thought, UnknownItem
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.dialect_recordings import agent_of, read, recorded


def items_of(name: str) -> list[AnyItem]:
    transcript = Transcript()
    for event in read(agent_of(name), recorded(name)):
        transcript.add(event)
    transcript.finish()
    return list(transcript.items())


def test_lines_without_new_facts_are_not_shown() -> None:
    for name in ("codex/tools", "opencode/tools", "cursor/parallel"):
        assert [item for item in items_of(name) if isinstance(item, UnknownItem)] == []


def test_a_warning_is_shown_as_a_notice() -> None:
    notices = [item.text for item in items_of("gemini/loop-detected") if isinstance(item, Notice)]
    assert "Loop detected, stopping execution" in notices


def test_a_text_in_deltas_is_shown_once() -> None:
    for name, text in (("gemini/tools", ["I will look.", "Hello – wörld"]), ("cursor/unmarked", ["Hello"])):
        message = [item.text for item in items_of(name) if isinstance(item, TextItem) and item.text in text]
        assert message == text
    thoughts = [item.text for item in items_of("cursor/parallel") if isinstance(item, Thought)]
    assert thoughts == ["First read."]
