from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.tools.shell.output_spool import OutputSpool


def filled(path: Path, data: bytes, *, step: int, hold: int, keep: int = 1000) -> OutputSpool:
    spool = OutputSpool(path, hold_characters=hold, tail_characters=50, keep_bytes=keep)
    for start in range(0, len(data), step):
        spool.add(data[start : start + step])
    return spool


@given(data=st.binary(max_size=300), step=st.integers(1, 40), hold=st.integers(0, 300))
def test_any_cut_of_the_bytes_is_the_same_output(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, step: int, hold: int
) -> None:
    path = tmp_path_factory.mktemp("spool") / "out" / "file.txt"
    spool = filled(path, data, step=step, hold=hold)
    text = data.decode("utf-8", "replace")
    spool.close()
    assert spool.size_bytes == len(data)
    assert spool.characters == len(text)
    assert spool.tail() == text[-50:]
    assert spool.is_held is (len(text) <= hold)
    assert spool.head() == text[:hold]
    assert spool.is_held or path.read_bytes() == data
    assert path.exists() is not spool.is_held


def test_bytes_beyond_the_limit_are_counted_and_reported(tmp_path: Path) -> None:
    spool = filled(tmp_path / "f", b"0123456789" * 30, step=7, hold=20, keep=100)
    spool.close()
    assert (tmp_path / "f").read_bytes() == b"0123456789" * 10 + b"\n[200 more bytes were printed and not stored]\n"
    assert (spool.size_bytes, spool.kept_bytes, spool.characters) == (300, 100, 300)
    assert spool.tail() == "0123456789" * 5


def test_a_file_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("precious")
    spool = filled(tmp_path / "f", b"x" * 100, step=10, hold=20)
    spool.close()
    assert (tmp_path / "f").read_text() == "precious"
    assert spool.fault is not None
    assert spool.tail() == "x" * 50


def test_a_discarded_output_leaves_no_file(tmp_path: Path) -> None:
    spool = filled(tmp_path / "f", b"x" * 100, step=10, hold=20)
    assert (tmp_path / "f").exists()
    spool.discard()
    assert not (tmp_path / "f").exists()


def test_an_output_can_move_to_another_file_only_while_it_is_in_memory(tmp_path: Path) -> None:
    held = filled(tmp_path / "a", b"x" * 10, step=10, hold=20)
    held.spill_to(tmp_path / "b")
    poured = filled(tmp_path / "c", b"x" * 30, step=10, hold=20)
    poured.spill_to(tmp_path / "d")
    for spool in (held, poured):
        spool.add(b"more")
        spool.close()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "b": "x" * 10 + "more",
        "c": "x" * 30 + "more",
    }
