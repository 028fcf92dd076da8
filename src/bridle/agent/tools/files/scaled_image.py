"""Scales images with Pillow, which is an extra of the package (`bridle-cli[images]`)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bridle.agent.tools.files.picture import Picture

if TYPE_CHECKING:
    from PIL.Image import Image

# A decoded pixel takes four bytes; an image with more pixels would take several hundred megabytes.
PIXELS_LIMIT = 80_000_000
# Tried in this order until the file is small enough; with the last one an image of 2,000 pixels on a side always is.
_JPEG_QUALITIES = (85, 70, 50, 20)


class TooManyPixels(Exception):
    """The image would take too much memory."""


class CannotDecode(Exception):
    """The file is damaged."""


def scale(picture: Picture, *, side: int, limit_bytes: int) -> Picture:
    """Return the image with at most `side` pixels on a side and `limit_bytes` bytes; of an animation, the first frame.

    Raises ModuleNotFoundError if Pillow is not installed.
    """
    import PIL.Image  # late: an extra
    import PIL.ImageOps

    # Before Pillow opens it, which would print a warning.
    if picture.pixels[0] * picture.pixels[1] > PIXELS_LIMIT:
        raise TooManyPixels
    try:
        with PIL.Image.open(io.BytesIO(picture.data), formats=[picture.kind]) as image:
            upright = PIL.ImageOps.exif_transpose(image)
            upright = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except Exception as error:  # the decoders raise anything
        raise CannotDecode(str(error) or type(error).__name__) from error
    upright.thumbnail((side, side))
    return _encode(picture.kind, upright, limit_bytes)


def _encode(kind: str, image: Image, limit_bytes: int) -> Picture:
    """Encode as PNG, unless the image was a JPEG or that is too large."""
    if kind != "jpeg" and len(data := _saved(image, "png")) <= limit_bytes:
        return Picture("png", data, image.size)
    opaque = _on_white(image)
    for quality in _JPEG_QUALITIES:
        data = _saved(opaque, "jpeg", quality)
        if len(data) <= limit_bytes:
            break
    return Picture("jpeg", data, image.size)


def _on_white(image: Image) -> Image:
    """Return the image without transparency, which JPEG does not have."""
    import PIL.Image

    if image.mode == "RGB":
        return image
    background = PIL.Image.new("RGB", image.size, "white")
    background.paste(image, mask=image.getchannel("A"))
    return background


def _saved(image: Image, kind: str, quality: int = 85) -> bytes:
    buffer = io.BytesIO()
    if kind == "jpeg":
        image.save(buffer, kind, quality=quality)
    else:
        image.save(buffer, kind)
    return buffer.getvalue()
