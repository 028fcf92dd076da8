"""Images that are too large for the endpoint are scaled with Pillow, and without it a message names the extra."""

from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from bridle.agent.tools.files.images import LIMIT_BYTES
from tests.agent.fixtures.file_tool_calls import FileToolCalls


def noise(width: int, height: int, mode: str = "RGB") -> PIL.Image.Image:
    """Make an image that does not compress."""
    return PIL.Image.frombytes(mode, (width, height), os.urandom(width * height * len(mode)))


def read(folder: Path, name: str) -> tuple[PIL.Image.Image, dict[str, Any]]:
    """Return the image that the model gets, and the detail of the result."""
    result = FileToolCalls(folder).call("Read", file_path=name)
    assert isinstance(result.content, list), result.content
    source = result.content[0]["source"]
    data = base64.b64decode(source["data"])
    assert len(data) <= LIMIT_BYTES
    image = PIL.Image.open(io.BytesIO(data))
    assert source["media_type"] == f"image/{str(image.format).lower()}"
    return image, result.detail["file"]


@pytest.mark.parametrize(("name", "kind"), [("a.png", "PNG"), ("a.jpg", "JPEG"), ("a.gif", "PNG"), ("a.webp", "PNG")])
def test_a_long_side_is_scaled_to_2000_pixels(tmp_path: Path, name: str, kind: str) -> None:
    PIL.Image.new("RGB", (4000, 1000), "red").save(tmp_path / name)
    image, detail = read(tmp_path, name)
    assert (image.format, image.size) == (kind, (2000, 500))
    assert image.convert("RGB").getpixel((5, 5)) == pytest.approx((255, 0, 0), abs=3)
    assert detail["dimensions"] == {
        "originalWidth": 4000,
        "originalHeight": 1000,
        "displayWidth": 2000,
        "displayHeight": 500,
    }
    assert detail["originalSize"] == (tmp_path / name).stat().st_size


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_file_over_the_size_limit_becomes_a_smaller_one(tmp_path: Path, mode: str) -> None:
    noise(1900, 1900, mode).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > LIMIT_BYTES
    image, _ = read(tmp_path, "a.png")
    assert (image.format, image.size) == ("JPEG", (1900, 1900))


def test_transparency_and_the_orientation_of_a_photo_are_kept(tmp_path: Path) -> None:
    PIL.Image.new("RGBA", (3000, 30), (0, 0, 0, 0)).save(tmp_path / "a.png")
    assert read(tmp_path, "a.png")[0].convert("RGBA").getpixel((1, 1)) == (0, 0, 0, 0)
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    PIL.Image.new("RGB", (3000, 300)).save(tmp_path / "a.jpg", exif=exif)
    assert read(tmp_path, "a.jpg")[0].size == (200, 2000)


def test_without_pillow_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PIL.Image.new("RGB", (9000, 10)).save(tmp_path / "wide.png")
    PIL.Image.new("RGB", (4000, 10)).save(tmp_path / "accepted.png")
    noise(1900, 1900).save(tmp_path / "large.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    desk = FileToolCalls(tmp_path)
    for name in ("wide.png", "large.png"):
        assert "`pip install 'bridle-cli[images]'`" in desk.error("Read", file_path=name)
    accepted = desk.call("Read", file_path="accepted.png")
    assert accepted.detail["file"]["dimensions"]["displayWidth"] == 4000
