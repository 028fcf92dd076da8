"""An image as it is sent to the model."""

from __future__ import annotations

from msgspec import Struct


class Picture(Struct, frozen=True):
    """The bytes of an image file, with its format and size."""

    kind: str
    """`png`, `jpeg`, `gif` or `webp`."""
    data: bytes
    pixels: tuple[int, int]
    """Width and height."""
