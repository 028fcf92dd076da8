from __future__ import annotations

import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from tests.agent.fixtures.file_tool_calls import FileToolCalls
from tests.agent.fixtures.unprivileged import unprivileged

MEGABYTE = 1024 * 1024


def test_a_file_that_was_read_and_has_not_changed_is_not_shown_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    desk = FileToolCalls(tmp_path)
    assert desk.text("Read", file_path="a.txt") == "1\tx\n2\t"
    assert desk.text("Read", file_path=str(tmp_path / "a.txt")).startswith("Wasted call")
    assert desk.text("Read", file_path="a.txt", limit=1) == "1\tx"
    (tmp_path / "a.txt").write_text("xy\n")
    assert desk.text("Read", file_path="a.txt") == "1\txy\n2\t"


def test_what_was_written_by_a_call_is_shown_when_asked_for(tmp_path: Path) -> None:
    desk = FileToolCalls(tmp_path)
    desk.call("Write", file_path="a.txt", content="x\n")
    assert desk.text("Read", file_path="a.txt") == "1\tx\n2\t"


def test_a_sparse_file_of_100_megabytes_is_refused_with_advice_and_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(100 * MEGABYTE)
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="missing")  # what a first call loads
    tracemalloc.start()
    try:
        said = desk.error("Read", file_path="large")
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()
    assert said.startswith("File content (100MB) exceeds maximum allowed size (256KB). Use offset and limit")


def test_a_part_of_a_large_file_is_shown_without_holding_the_rest(tmp_path: Path) -> None:
    line = "x" * 99
    with (tmp_path / "large.txt").open("w") as file:
        for number in range(1, 300_001):
            file.write(f"{number} {line}\n")
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="missing")
    tracemalloc.start()
    try:
        answer = desk.call("Read", file_path="large.txt", offset=299_999, limit=2)
        assert tracemalloc.get_traced_memory()[1] < 8 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert answer.content == f"299999\t299999 {line}\n300000\t300000 {line}"
    assert answer.detail["file"]["totalLines"] == 300_001


def test_a_line_of_many_megabytes_is_counted_and_not_held(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_bytes(b"x" * 40 * MEGABYTE)
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="missing")
    tracemalloc.start()
    try:
        said = desk.error("Read", file_path="large.txt", limit=1)
        assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert said.startswith("File content (10485760 tokens) exceeds maximum allowed tokens (25000).")


@pytest.mark.parametrize(("offset", "limit"), [(1, 1), (2, 3), (4, 9), (5, 1), (6, 1), (7, 2), (0, 2)])
def test_a_part_is_the_same_whether_the_file_is_cut_or_scanned(tmp_path: Path, offset: int, limit: int) -> None:
    lines = ["one", "", "three\r", "vier", "fünf"]
    (tmp_path / "a.txt").write_bytes("\n".join([*lines, ""]).encode())
    shown = [line.removesuffix("\r") for line in [*lines, ""]]
    first = max(offset - 1, 0)
    wanted = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown[first : first + limit], offset))
    said = FileToolCalls(tmp_path).text("Read", file_path="a.txt", offset=offset, limit=limit)
    assert said == wanted if shown[first : first + limit] not in ([], [""]) else "shorter than the provided" in said


def test_a_line_over_the_chunks_of_a_scan_is_whole(tmp_path: Path) -> None:
    lines = ["a" * 700_000, "b" * 90_000, "c" * 700_000, "d" * 90_000]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    desk = FileToolCalls(tmp_path)
    assert desk.text("Read", file_path="a.txt", offset=2, limit=1) == f"2\t{lines[1]}"
    assert desk.text("Read", file_path="a.txt", offset=4, limit=5) == f"4\t{lines[3]}"


def test_more_than_a_result_may_hold_is_refused_if_a_limit_was_given_and_else_cut_into_pages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "".join(f"line {number} of this file is here to fill it\n" for number in range(6000))
    )
    desk = FileToolCalls(tmp_path)
    said = desk.text("Read", file_path="a.txt")
    assert "showing lines 1-2033 of 6001 total (62722 tokens, cap 25000)" in said
    assert "offset=2034 limit=2033" in said
    assert said.endswith("\n2033\tline 2032 of this file is here to fill it")
    assert desk.call("Read", file_path="a.txt", offset=2034, limit=2033).is_error is False
    assert desk.error("Read", file_path="a.txt", limit=6000).startswith("File content (62722 tokens) exceeds maximum")


def test_the_beginning_of_a_file_with_one_huge_line_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("q" * 200_000)
    answer = FileToolCalls(tmp_path).call("Read", file_path="a.txt")
    assert "showing the first 85000 of 200000 characters (50000 tokens, cap 25000)" in str(answer.content)
    assert answer.detail["file"]["content"] == "q" * 85_000
    assert answer.detail["file"]["truncatedByTokenCap"] is True


def test_neither_a_pipe_nor_a_device_nor_a_socket_makes_a_call_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    desk = FileToolCalls(tmp_path)
    for path in ("pipe", "/dev/zero", "/dev/tty" if os.path.exists("/dev/tty") else "/dev/null"):
        said = desk.error("Read", file_path=path)
        assert "Cannot read" in said or "ENXIO" in said
        assert desk.call("Read", file_path=path, limit=1).is_error
        assert desk.call("Edit", file_path=path, old_string="a", new_string="b").is_error
        assert desk.call("Write", file_path=path, content="b").is_error


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux has these files")
def test_a_file_of_the_kernel_is_shown_though_it_says_that_it_is_empty(tmp_path: Path) -> None:
    desk = FileToolCalls(tmp_path)
    assert desk.text("Read", file_path="/proc/self/status").startswith("1\tName:\t")
    assert desk.text("Read", file_path="/proc/self/status", offset=1, limit=1).startswith("1\tName:\t")


def test_a_file_with_bytes_that_are_no_text_is_refused_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\x02\x01\x01\0\0\0\x80\xff" * 50)
    (tmp_path / "zeros.txt").write_bytes(b"\0" * 100)
    desk = FileToolCalls(tmp_path)
    assert "cannot read binary files" in desk.error("Read", file_path="program")
    assert "cannot read binary files" in desk.error("Read", file_path="zeros.txt", limit=1)
    assert "binary .zip file" in desk.error("Read", file_path="not-there.zip")


def test_a_letter_at_the_edge_of_the_sample_does_not_make_a_text_binary(tmp_path: Path) -> None:
    text = "\0" + "x" * 8190 + "é and more"
    (tmp_path / "a.txt").write_text(text)
    assert FileToolCalls(tmp_path).text("Read", file_path="a.txt") == f"1\t{text}"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("one\nzwö\n".encode("utf-16"), "1\tone\n2\tzwö\n3\t"),
        (b"\xfe\xff" + "one\nzwö".encode("utf-16-be"), "1\tone\n2\tzwö"),
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "1\tone\n2\ttwo\n3\t"),
        (b"caf\xe9\n", "1\tcafé\n2\t"),
        ("schön \u20ac ".encode() + b"\xff\n", "1\tschön \u20ac \ufffd\n2\t"),
        (b"\xff\xfe\x00", None),
        (b"tab\there\x1b[0m\n", "1\ttab\there\x1b[0m\n2\t"),
    ],
)
def test_a_text_is_shown_in_whatever_encoding_it_is(tmp_path: Path, data: bytes, shown: str | None) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    answer = FileToolCalls(tmp_path).call("Read", file_path="a.txt")
    assert isinstance(answer.content, str)
    answer.content.encode("utf-8")  # can be sent
    assert shown is None or answer.content == shown
    part = FileToolCalls(tmp_path).call("Read", file_path="a.txt", limit=1).content
    assert shown is None or part == shown.split("\n")[0]


def test_hostile_paths_get_a_clear_answer(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("x")
    (tmp_path / "two\nlines").write_text("found\n")
    desk = FileToolCalls(tmp_path)
    assert desk.text("Read", file_path="two\nlines") == "1\tfound\n2\t"
    assert desk.error("Read", file_path="loop").startswith("ELOOP: too many symbolic links encountered")
    assert desk.error("Read", file_path="file/below").startswith("ENOTDIR: not a directory")
    assert desk.error("Read", file_path="n" * 5000).startswith("ENAMETOOLONG: ")
    assert "NUL" in desk.error("Read", file_path="a\0b")
    assert desk.error("Read", file_path=".").startswith("EISDIR: illegal operation on a directory, read '")
    assert desk.error("Read", file_path="\udcff").startswith("File does not exist.")


def test_a_forbidden_file_gets_a_clear_answer(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("x")
    path.chmod(0)
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="missing")  # what a first call loads
    with unprivileged():
        assert desk.error("Read", file_path=str(path)).startswith("EACCES: permission denied, open '")


def test_a_file_that_is_not_there_is_looked_for_nearby(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.ts").write_text("x")
    desk = FileToolCalls(folder)
    assert desk.error("Read", file_path="app.js").endswith("Did you mean app.ts?")
    assert desk.error("Read", file_path=str(tmp_path / "app.ts")).endswith(f"Did you mean {folder / 'app.ts'}?")
    assert desk.error("Read", file_path="other.js").endswith(f"working directory is {folder}.")


def test_a_picture_that_the_endpoint_would_refuse_is_refused_here(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(_png(9000, 1))
    (tmp_path / "huge.png").write_bytes(_png(9000, 9000))
    (tmp_path / "cut.png").write_bytes(_png(1, 1)[:15])
    (tmp_path / "page.jpg").write_text("<html>")
    (tmp_path / "none.gif").write_text("")
    desk = FileToolCalls(tmp_path)
    assert desk.error("Read", file_path="broken.png").startswith("Image cannot be decoded: ")
    assert "9000 x 9000 pixels is too large to be scaled" in desk.error("Read", file_path="huge.png")
    assert "width and height" in desk.error("Read", file_path="cut.png")
    assert "hex: 3c 68 74 6d 6c 3e" in desk.error("Read", file_path="page.jpg")
    assert desk.error("Read", file_path="none.gif").startswith("Image file is empty")


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (lambda: _png(3, 5), "png", (3, 5)),
        (lambda: b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x0b\x08\0\x05\0\x03\x01\x01\x11\0", "jpeg", (3, 5)),
        (lambda: b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x04\0\0", "webp", (3, 5)),
        (lambda: b"RIFF\0\0\0\0WEBPVP8L\x05\0\0\0\x2f" + struct.pack("<I", 2 | 4 << 14), "webp", (3, 5)),
        (lambda: b"RIFF\0\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x03\0\x05\0", "webp", (3, 5)),
    ],
)
def test_an_image_is_recognized_by_its_content_and_its_size_read_from_its_header(
    tmp_path: Path, data: object, kind: str, size: tuple[int, int]
) -> None:
    assert callable(data)
    (tmp_path / "picture.png").write_bytes(data())
    answer = FileToolCalls(tmp_path).call("Read", file_path="picture.png")
    assert isinstance(answer.content, list)
    assert answer.content[0]["source"]["media_type"] == f"image/{kind}"
    dimensions = answer.detail["file"]["dimensions"]
    assert (dimensions["originalWidth"], dimensions["originalHeight"]) == size


def test_a_document_follows_the_result_as_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 and so on")
    answer = FileToolCalls(tmp_path).call("Read", file_path="a.pdf")
    assert answer.content == f"PDF file read: {tmp_path / 'a.pdf'} (18 bytes)"
    (block,) = answer.follow_up
    assert isinstance(block, dict)
    assert block["type"] == "document"
    assert block["source"]["data"] == answer.detail["file"]["base64"]


def test_single_pages_of_a_document_are_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    desk = FileToolCalls(tmp_path)
    assert "pdftotext" in desk.error("Read", file_path="a.pdf", pages="1-3")
    assert "Invalid pages parameter" in desk.error("Read", file_path="a.pdf", pages="three")


def _png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
