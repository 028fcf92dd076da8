"""The images of a conversation, read again from the log; only kinds that cannot contain code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bridle.views.run_data.followed_log import FollowedLog, decoder_or_default
from bridle.wire.events.events import Assistant, User
from bridle.wire.transcript.images import Picture, pictures_in
from bridle.wire.transcript.items import Call, ImageRef, TextItem

# How a file of each kind begins. An SVG is a document that can contain scripts, and is not among them.
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_RIFF, _WEBP = b"RIFF", b"WEBP"
SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# A screenshot in base64 has about 14 MB.
_LINE_BYTES = 64 * 1024 * 1024


class ShownImage(Struct, frozen=True):
    """An image that a browser may show."""

    media_type: str
    data: bytes


def is_shown(image: ImageRef) -> bool:
    """Return whether an image has bytes in the log and says that it is of a shown kind."""
    return image.media_type in SHOWN_TYPES and bool(image.digest)


def read_image(log: FollowedLog, item_id: int, number: int) -> ShownImage | None:
    """Return an image of an item; None if it is missing, or its bytes are of another kind than those shown."""
    item = log.transcript.item(item_id)
    images = item.images if isinstance(item, TextItem | Call) else ()
    if not 0 <= number < len(images) or not is_shown(images[number]):
        return None
    digest = images[number].digest
    found = (picture for line in log.raw_lines(item_id, _LINE_BYTES) for picture in _pictures(log.agent, line))
    data = next((picture.data for picture in found if picture.about.digest == digest), b"")
    kind = media_type_of(data)
    return None if kind is None else ShownImage(kind, data)


def media_type_of(data: bytes) -> str | None:
    """Return the kind of an image by its first bytes; None for all others."""
    if data.startswith(_RIFF) and data[8:12] == _WEBP:
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def _pictures(agent: str, line: bytes) -> Iterator[Picture]:
    decoder = decoder_or_default(agent)
    for event in (*decoder.feed(line), *decoder.end()):
        if isinstance(event, Assistant | User):
            for block in event.message.blocks:
                yield from pictures_in(block)


def whole_item_log(log: FollowedLog, item_id: int, kept_characters: int) -> FollowedLog:
    """Return the same conversation with longer texts, read as far as the item needs it."""
    again = FollowedLog(Path(log.path), log.agent, log.mask, kept_characters=kept_characters)
    try:
        while again.position < log.position_of(item_id) and again.read_new():
            pass
    finally:
        again.close()
    return again
