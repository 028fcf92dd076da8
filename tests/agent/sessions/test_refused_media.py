"""Refused media: the mark in a transcript, and the content without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.agent.sessions.refused_media import removal_text, removed_kind, without_media

IMAGE = {"type": "image", "source": {}}
PDF = {"type": "document", "source": {}}
REMOVED = {"type": "text", "text": "(media removed — rejected by API)"}
TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize("kind", ["image", "document"])
def test_the_text_of_a_removal_names_its_kind(kind: str) -> None:
    content = json.dumps([{"type": "text", "text": removal_text(kind)}]).encode()
    assert removed_kind(content) == kind


def test_another_error_removes_nothing() -> None:
    assert removed_kind(b'[{"type":"text","text":"API Error: 400 an image"}]') is None


@pytest.mark.parametrize(
    ("blocks", "kind", "left"),
    [
        ([TEXT, IMAGE], "image", [TEXT, REMOVED]),
        (
            [{"type": "tool_result", "content": [IMAGE, TEXT]}],
            "image",
            [{"type": "tool_result", "content": [REMOVED, TEXT]}],
        ),
        ([{"type": "tool_result", "content": "text"}], "image", None),
        ([PDF], "image", None),
        ([PDF], "document", [REMOVED]),
        ("text", "image", None),
    ],
)
def test_media_become_a_note(blocks: Any, kind: str, left: Any) -> None:
    content = without_media(json.dumps(blocks).encode(), kind)
    assert (None if content is None else json.loads(content)) == left
