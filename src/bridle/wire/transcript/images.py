"""Images in messages and tool results: their type, size and digest. The bytes stay in the log."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from bridle.wire.events.blocks import AnyBlock, Image, ToolResult
from bridle.wire.events.loose_json import from_json
from bridle.wire.transcript.items import ImageRef

KEPT_IMAGES = 100  # of one tool result; a page of a PDF is one image, and a real result has at most 20
TYPE_CHARACTERS = 100
# Where an image is in the text of a tool result, see `blocks.plain_text`.
IMAGE_TEXT = "[image]"


class Picture(msgspec.Struct, frozen=True):
    """An image with its bytes."""

    about: ImageRef
    data: bytes = b""


def image_refs(block: AnyBlock) -> tuple[ImageRef, ...]:
    """Return type, size and digest of each image in a block."""
    return tuple(picture.about for picture in pictures_in(block))


def pictures_in(block: AnyBlock) -> Iterator[Picture]:
    """Yield the images in a block: itself, or those of a tool result."""
    if isinstance(block, Image):
        yield _picture(from_json(block.source))
    elif isinstance(block, ToolResult) and b'"image"' in bytes(block.content):
        content = block.value if isinstance(block.value, list) else []
        images = [entry for entry in content if isinstance(entry, dict) and entry.get("type") == "image"]
        yield from (_picture(entry.get("source")) for entry in images[:KEPT_IMAGES])


def _picture(source: Any) -> Picture:
    """Return an image; one that is not in the stream, such as that of an address, has no digest."""
    match source:
        case {"media_type": str(kind), "data": str(encoded)}:
            try:
                data = binascii.a2b_base64(encoded)
            except (binascii.Error, ValueError):  # not base64, or not ASCII
                return Picture(ImageRef(media_type=kind[:TYPE_CHARACTERS]))
            about = ImageRef(
                media_type=kind[:TYPE_CHARACTERS], size_bytes=len(data), digest=sha256(data).hexdigest() if data else ""
            )
            return Picture(about, data)
    return Picture(ImageRef())
