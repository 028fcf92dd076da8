"""What is logged of a command's output, and what of it is shown."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from bridle.ground import disk
from bridle.run.command_output import CommandOutput
from bridle.wire.mask import MASKED, Mask

HEAD, TAIL = 2_000, 14_000
SECRET = "".join(chr(ord("A") + n % 26) for n in range(400))


def output_of(
    folder: Path, data: bytes, mask: Mask, *, log_limit_bytes: int = 10_000_000, chunk: int = 7_001
) -> CommandOutput:
    path = folder / "output.log"
    path.unlink(missing_ok=True)
    output = CommandOutput(
        path,
        disk.create_exclusive(path),
        mask,
        head_characters=HEAD,
        tail_characters=TAIL,
        log_limit_bytes=log_limit_bytes,
    )
    with output:
        for start in range(0, len(data), chunk):
            output.add(data[start : start + chunk])
    output.close()  # a second time
    return output


def shows_secret(text: str) -> bool:
    return any(SECRET[n : n + 6] in text for n in range(26))


def test_a_short_output_is_shown_whole_and_logged_raw(tmp_path: Path) -> None:
    data = b"\x1b[31mred\x1b[0m\r\nx\0y\rz \x1b]8;;http://a\x07link \xff"
    output = output_of(tmp_path, data, Mask())
    assert output.text == "red\nxy\nz link \ufffd"
    assert output.path.read_bytes() == data
    assert output.digest == sha256(data).hexdigest()


def test_of_a_long_output_both_ends_are_shown(tmp_path: Path) -> None:
    text = output_of(tmp_path, b"begin" + b"x" * 500_000 + b"end", Mask()).text
    assert text.startswith("beginx")
    assert text.endswith("xend")
    assert "\n… the middle of 500008 bytes is left out …\n" in text
    assert len(text) < HEAD + TAIL + 100


@pytest.mark.parametrize(
    ("filler", "chunk"),
    [
        (".", 5_003),
        (".", 1_000_000),
        ("é", 50_021),
        ("\N{SNOWMAN}", 50_021),
        ("\N{GRINNING FACE}", 50_021),
        ("\x1b[1m.", 50_021),
    ],
)
def test_no_part_of_a_secret_is_shown_at_any_cut(tmp_path: Path, filler: str, chunk: int) -> None:
    """Also with characters of several bytes: the cut is then elsewhere in the text than in the bytes."""
    mask = Mask([SECRET])
    empty = output_of(tmp_path, b"", mask)
    width, size_bytes = len(filler.encode()), 300_000
    edges = (
        HEAD * width,
        empty.head_bytes,
        size_bytes - empty.tail_bytes,
        size_bytes - TAIL * width,
    )
    for offset in sorted((edge + shift) // width for edge in edges for shift in (-399, -200, -1)):
        count = (size_bytes - len(SECRET)) // width
        data = (filler * offset + SECRET + filler * (count - offset)).encode()
        assert not shows_secret(output_of(tmp_path, data, mask, chunk=chunk).text), offset
    assert not shows_secret(output_of(tmp_path, (SECRET * 1_000).encode(), mask, chunk=chunk).text)


def test_a_secret_split_by_a_colour_code_is_masked(tmp_path: Path) -> None:
    mask = Mask(["hunter2hunter2", "-----\r\nsecret\r\n-----"])
    assert output_of(tmp_path, b"a hunter\x1b[1m2hunter2\x1b[0m z", mask).text == f"a {MASKED} z"
    assert output_of(tmp_path, b"a hunter2\x1b[0m\x1b[31mhunter2 z", mask).text == f"a {MASKED} z"
    assert output_of(tmp_path, b"a -----\r\nsecret\r\n----- z", mask).text == f"a {MASKED} z"


def test_a_log_over_its_limit_keeps_its_end(tmp_path: Path) -> None:
    data = b"begin" + b"x" * 500_000 + b"end"
    output = output_of(tmp_path, data, Mask(), log_limit_bytes=1_000)
    log = output.path.read_bytes()
    assert log.startswith(data[:1_000])
    assert log.endswith(b"xend")
    assert b"bytes left out" in log
    assert len(log) < 200_000
    assert output.digest == sha256(log).hexdigest()
