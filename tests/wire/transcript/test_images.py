"""Images in messages and tool results."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from bridle.wire.events.blocks import Image, ToolResult, tool_result
from bridle.wire.events.loose_json import to_raw
from bridle.wire.transcript.images import KEPT_IMAGES, image_refs, pictures_in
from bridle.wire.transcript.items import Call, ImageRef, Speaker, TextItem
from tests.wire.fixtures.conversations import assistant_line, recorded, result, text, transcript_of, use, user_line

DATA = b"\x89PNG and so on"
SHOWN = ImageRef(media_type="image/png", size_bytes=len(DATA), digest=hashlib.sha256(DATA).hexdigest())


def image(data: bytes = DATA, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def test_the_images_of_a_tool_result_are_in_its_call() -> None:
    transcript = transcript_of(
        assistant_line(use("c", "Read", file_path="a.png")), user_line(result("c", [text("see"), image(), image()]))
    )
    (call,) = transcript.items()
    assert isinstance(call, Call)
    assert (call.output, call.images) == ("see\n[image]\n[image]", (SHOWN, SHOWN))


def test_an_image_of_the_user_is_a_text_with_an_image() -> None:
    transcript = transcript_of(user_line(image(), text("What is this?")))
    shown, words = transcript.items()
    assert isinstance(shown, TextItem)
    assert (shown.speaker, shown.images) == (Speaker.USER, (SHOWN,))
    assert isinstance(words, TextItem)
    assert (words.text, words.images) == ("What is this?", ())


def test_a_text_after_an_image_of_the_agent_is_a_text_of_its_own() -> None:
    transcript = transcript_of(assistant_line(image(), text("There.")))
    assert [item.text for item in transcript.items() if isinstance(item, TextItem)] == ["[image]", "There."]


def test_a_recorded_image_has_its_type_and_size() -> None:
    calls = [item for item in recorded("23-tool-shapes").items() if isinstance(item, Call) and item.images]
    assert [(call.name, call.images[0].media_type, call.images[0].size_bytes) for call in calls] == [
        ("Read", "image/png", 70)
    ]


def test_the_bytes_are_found_by_their_digest() -> None:
    block = tool_result("c", [image(b"one"), image(b"two")])
    assert [(picture.data, picture.about.digest) for picture in pictures_in(block)] == [
        (data, hashlib.sha256(data).hexdigest()) for data in (b"one", b"two")
    ]


@pytest.mark.parametrize(
    "source",
    [
        None,
        "text",
        {},
        {"type": "url", "url": "https://example.org/a.png"},
        {"media_type": 7, "data": "AAAA"},
        {"media_type": "image/png", "data": 7},
        {"media_type": "image/png", "data": "A"},
        {"media_type": "image/png", "data": "é"},
        {"media_type": "image/png", "data": ""},
        [],
    ],
)
def test_a_source_without_bytes_has_no_digest(source: Any) -> None:
    (shown,) = image_refs(Image(source=to_raw(source)))
    assert (shown.size_bytes, shown.digest) == (0, "")


@pytest.mark.parametrize("content", ['an "image"', {"type": "image"}, [["image"], "image", 7, {"type": ["image"]}]])
def test_content_without_images_has_none(content: Any) -> None:
    assert image_refs(tool_result("c", content)) == ()


def test_a_result_keeps_a_bounded_number_of_images() -> None:
    block = ToolResult(tool_use_id="c", content=to_raw([image(b"x")] * (KEPT_IMAGES + 5)))
    assert len(image_refs(block)) == KEPT_IMAGES


def test_a_long_media_type_is_cut() -> None:
    (shown,) = image_refs(tool_result("c", [image(media_type="x" * 1000)]))
    assert len(shown.media_type) == 100
