"""A file that a user asks for is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.errors import Error, UsageError
from bridle.ground.files.output_file import check_output, write_output


def test_the_pieces_are_one_private_file(tmp_path: Path) -> None:
    assert write_output(tmp_path / "out", [b"one", b"", b"two"], overwrite=False) == 6
    assert (tmp_path / "out").read_bytes() == b"onetwo"
    assert oct((tmp_path / "out").stat().st_mode)[-3:] == "600"
    assert os.listdir(tmp_path) == ["out"]


def test_an_error_within_the_pieces_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("broken")

    (tmp_path / "kept").write_text("old")
    for name, overwrite in (("out", False), ("kept", True)):
        with pytest.raises(ValueError, match="broken"):
            write_output(tmp_path / name, pieces(), overwrite=overwrite)
    assert os.listdir(tmp_path) == ["kept"]
    assert (tmp_path / "kept").read_text() == "old"


def test_a_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("old")

    def appears() -> Iterator[bytes]:
        (tmp_path / "late").write_text("of another program")
        yield b"new"

    with pytest.raises(UsageError, match="exists"):
        check_output(out, overwrite=False)
    with pytest.raises(UsageError, match="exists"):
        write_output(tmp_path / "late", appears(), overwrite=False)
    assert (tmp_path / "late").read_text() == "of another program"
    check_output(out, overwrite=True)
    write_output(out, [b"new"], overwrite=True)
    assert out.read_text() == "new"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "out").symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="exists"):
        check_output(tmp_path / "out", overwrite=False)
    write_output(tmp_path / "out", [b"new"], overwrite=True)
    assert (tmp_path / "target").read_text() == "kept"
    assert not (tmp_path / "out").is_symlink()


def test_places_that_cannot_be_written_are_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, overwrite=True)
    with pytest.raises(UsageError, match="does not exist"):
        check_output(tmp_path / "none" / "out", overwrite=False)
    with pytest.raises(Error):
        write_output(tmp_path / "none" / "out", [b"x"], overwrite=False)
