"""Reads image files: detects their format and size, scales large ones, and encodes them as content blocks."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import ContentBlock, ToolResult, as_block, failed_result
from bridle.agent.tools.files.excerpt import open_regular
from bridle.agent.tools.files.picture import Picture

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
# The Messages API accepts five megabytes of base64 for one image, which is three quarters of that in bytes.
LIMIT_BYTES = 5 * 1024 * 1024 * 3 // 4
# The Messages API rejects an image with a longer side.
LIMIT_PIXELS = 8000
# A longer side is scaled down: the API rejects it in a request with many images, and makes others smaller itself.
SIDE_PIXELS = 2000
# A larger file is not even read to be scaled.
SOURCE_LIMIT_BYTES = 64 * 1024 * 1024


class InvalidImage(Exception):
    """The file is not an image that can be sent."""


class ImageTooLarge(Exception):
    """The image is too large, and cannot be scaled."""


def read_image(path: Path) -> ToolResult:
    """Return the image as a block, scaled if it is too large, or an error."""
    try:
        return _read(path)
    except (InvalidImage, ImageTooLarge) as error:
        return failed_result(str(error))


def image_content(path: Path) -> list[ContentBlock]:
    """Return the blocks of an image that a prompt mentions: none for an invalid one, the reason for one too large."""
    try:
        content = _read(path).content
    except InvalidImage:
        return []
    except ImageTooLarge as error:
        content = str(error)
    return [as_block(content)] if isinstance(content, str) else content


def _read(path: Path) -> ToolResult:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > SOURCE_LIMIT_BYTES:
            raise ImageTooLarge(
                f"Image file ({human_size(size)}) exceeds the maximum size of a file that can be scaled "
                f"({human_size(SOURCE_LIMIT_BYTES)}). Make a smaller copy and read that."
            )
        data = file.read(SOURCE_LIMIT_BYTES)
    picture = _recognized(path, data)
    is_small = len(data) <= LIMIT_BYTES and max(picture.pixels) <= SIDE_PIXELS
    return _image_result(picture if is_small else _scale(path, picture), picture)


def _recognized(path: Path, data: bytes) -> Picture:
    """Return the image with its format and its size in pixels."""
    if not data:
        raise InvalidImage(f"Image file is empty: {path}")
    kind = _kind(data)
    if kind is None:
        raise InvalidImage(
            "File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. Detected: unrecognized "
            f"bytes (hex: {data[:8].hex(' ')}). It may be a web page that was saved instead of the image: "
            f'check it with `file "{path}"` or `head -c 500 "{path}"`.'
        )
    pixels = _pixels(kind, data)
    if pixels is None or not all(pixels):
        # The API would reject this request and every later one with the image.
        raise InvalidImage(f"The image header has no width and height; the file may be damaged: {path}")
    return Picture(kind, data, pixels)


def _scale(path: Path, picture: Picture) -> Picture:
    from bridle.agent.tools.files import scaled_image  # late: few images are too large

    pixels, size = picture.pixels, len(picture.data)
    try:
        return scaled_image.scale(picture, side=SIDE_PIXELS, limit_bytes=LIMIT_BYTES)
    except ModuleNotFoundError:
        if size <= LIMIT_BYTES and max(pixels) <= LIMIT_PIXELS:
            return picture  # the endpoint scales it
        raise ImageTooLarge(
            f"Image of {pixels[0]} x {pixels[1]} pixels and {human_size(size)} exceeds what the endpoint accepts "
            f"({LIMIT_PIXELS} pixels on a side, {human_size(LIMIT_BYTES)}): Pillow, which scales it, is not installed. "
            "Install it with `pip install 'bridle-cli[images]'`, or make a smaller copy and read that."
        ) from None
    except scaled_image.TooManyPixels:
        raise ImageTooLarge(
            f"Image of {pixels[0]} x {pixels[1]} pixels is too large to be scaled. Make a smaller copy and read that."
        ) from None
    except scaled_image.CannotDecode as error:
        raise InvalidImage(f"Image cannot be decoded: {error}. The file may be damaged: {path}") from error


def _image_result(picture: Picture, original: Picture) -> ToolResult:
    from base64 import b64encode  # late: few runs read an image

    text = b64encode(picture.data).decode("ascii")
    file: dict[str, object] = {"base64": text, "type": f"image/{picture.kind}", "originalSize": len(original.data)}
    # Claude Code reports no dimensions for animations.
    if picture.kind != "gif":
        file["dimensions"] = {
            "originalWidth": original.pixels[0],
            "originalHeight": original.pixels[1],
            "displayWidth": picture.pixels[0],
            "displayHeight": picture.pixels[1],
        }
    source = {"type": "base64", "data": text, "media_type": f"image/{picture.kind}"}
    return ToolResult([{"type": "image", "source": source}], detail={"type": "image", "file": file})


def _kind(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return None


def _pixels(kind: str, data: bytes) -> tuple[int, int] | None:
    """Return width and height from the file header; None if it has none."""
    if kind == "png" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if kind == "gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if kind == "webp":
        return _webp_pixels(data)
    return _jpeg_pixels(data) if kind == "jpeg" else None


def _webp_pixels(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if form == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 " and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


def _jpeg_pixels(data: bytes) -> tuple[int, int] | None:
    """Return the size from the frame header, which follows segments of any length."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        # C4, C8 and CC are tables and an extension; every other marker from C0 to CF starts a frame.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[position + 7 : position + 9]), int.from_bytes(data[position + 5 : position + 7])
        position += 2 + int.from_bytes(data[position + 2 : position + 4])
    return None
