"""Logs as timed chunks."""

from __future__ import annotations

from pathlib import Path

from bridle.views.log_chunks import Log


def read(path: Path) -> list[tuple[bytes, float | None]]:
    with Log(path) as log:
        return list(log.chunks())


def test_each_chunk_has_the_time_from_the_times_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"onetwothree")
    (tmp_path / "a.times").write_text("3 1500\n6 2500\n11 4000\n")
    assert read(path) == [(b"one", 1.5), (b"two", 2.5), (b"three", 4.0)]


def test_malformed_times_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"onetwothree")
    (tmp_path / "a.times").write_text("x\n3 1500\n2 9\n-5 1\n\n6 2500\n7")
    assert read(path) == [(b"one", 1.5), (b"two", 2.5), (b"three", None)]


def test_a_log_without_a_times_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"words")
    assert read(path) == [(b"words", None)]


def test_a_growing_log_is_followed_until_its_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"one")
    ended: list[bool] = []
    with Log(path, lambda: bool(ended)) as log, path.open("ab") as writer:
        assert [data for data, _ in log.chunks()] == [b"one"]
        writer.write(b"two")
        writer.flush()
        assert log.wait(result_seen=False)
        assert [data for data, _ in log.chunks()] == [b"two"]
        ended.append(True)
        writer.write(b"last words")
        writer.flush()
        assert log.wait(result_seen=False), "what was written before the end is read first"
        assert [data for data, _ in log.chunks()] == [b"last words"]
        assert not log.wait(result_seen=False)
