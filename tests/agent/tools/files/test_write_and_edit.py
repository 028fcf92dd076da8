from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.fixtures.file_tool_calls import FileToolCalls, change_file, leftover_files
from tests.agent.fixtures.unprivileged import NOBODY_UID, unprivileged

IS_ROOT = os.geteuid() == 0


def _known(folder: Path, name: str, data: bytes) -> FileToolCalls:
    """A desk at which the model has read the file."""
    (folder / name).write_bytes(data)
    desk = FileToolCalls(folder)
    assert not desk.call("Read", file_path=name).is_error
    return desk


@contextmanager
def _open_folder() -> Iterator[Path]:
    """A folder that others may enter; the tests' own is for one user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB\nb2", b"a\r\nB\r\nb2\r\nc\r\n"),
        (b"a\r\nb\nc\r\nd\n", "b", "B", b"a\r\nB\nc\r\nd\n"),
        (b"a\r\nb\nc\r\nd\r\n", "b\nc", "B\nx\nC", b"a\r\nB\r\nx\r\nC\r\nd\r\n"),
        (b"a\nb\r\nc\n", "b\n", "", b"a\nc\n"),
        (b"\xef\xbb\xbfone\ntwo", "one", "ONE", b"\xef\xbb\xbfONE\ntwo"),
        ("eins\nzwö\n".encode("utf-16"), "zwö", "drei\nvier", "eins\ndrei\nvier\n".encode("utf-16")),
        (b"\xfe\xff" + "eins".encode("utf-16-be"), "eins", "zwei", b"\xfe\xff" + "zwei".encode("utf-16-be")),
        (b"caf\xe9 x\n", "x", "y \xfc", b"caf\xe9 y \xfc\n"),
        ("schön ".encode() + b"\xff x\n", "x", "ÿ", "schön ".encode() + b"\xff " + "ÿ\n".encode()),
        (b"no end", "end", "END", b"no END"),
        (b"end\n", "end\n", "end", b"end"),
        (b"a\0b\n", "b", "c", b"a\0c\n"),
        (b"x = '$1 \\1 \\g<0>'\n", "x", "$& \\0 \\g<0>", b"$& \\0 \\g<0> = '$1 \\1 \\g<0>'\n"),
        (b"x\r\n\ny\n", "x", "\\1 \\g<0>", b"\\1 \\g<0>\r\n\ny\n"),
        (b"a(b[c.*\n", "(b[c.*", "ok", b"aok\n"),
        ("say “hi” now\n".encode(), 'say "hi"', 'say "ho"', "say “ho” now\n".encode()),
        ("it’s ‘so’\n".encode(), "it's 'so'", "it's 'not' it", "it’s ‘not’ it\n".encode()),
    ],
)
def test_an_edit_changes_only_what_it_names(tmp_path: Path, before: bytes, old: str, new: str, after: bytes) -> None:
    desk = _known(tmp_path, "a.txt", before)
    answer = desk.call("Edit", file_path="a.txt", old_string=old, new_string=new)
    assert not answer.is_error, answer.content
    assert (tmp_path / "a.txt").read_bytes() == after


def test_replacing_everywhere_replaces_every_place(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"a a a\r\na\r\n")
    desk.call("Edit", file_path="a.txt", old_string="a", new_string="", replace_all=True)
    assert (tmp_path / "a.txt").read_bytes() == b"  \r\n\r\n"


@given(st.lists(st.sampled_from(["x", "y", "\r\n", "\n", "é"]), max_size=30).map("".join), st.data())
def test_bytes_outside_the_edit_stay_as_they_were(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    whole = text[:start] + "<HERE>" + text[start:]
    with tempfile.TemporaryDirectory() as name:
        desk = _known(Path(name), "a.txt", whole.encode())
        assert not desk.call("Edit", file_path="a.txt", old_string="<HERE>", new_string="there").is_error
        assert Path(name, "a.txt").read_bytes() == whole.replace("<HERE>", "there").encode()


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        ("a\n".encode("utf-16"), "ü\n", "ü\n".encode("utf-16")),
        (b"\xe9\n", "ü\n", b"\xfc\n"),
        (b"a", "", b""),
    ],
)
def test_a_new_content_keeps_the_encoding_and_has_the_line_endings_that_were_sent(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    desk = _known(tmp_path, "a.txt", before)
    assert not desk.call("Write", file_path="a.txt", content=content).is_error
    assert (tmp_path / "a.txt").read_bytes() == after


def test_a_letter_that_the_files_encoding_has_not_leaves_the_file_alone(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"caf\xe9\n")
    assert "latin-1" in desk.error("Edit", file_path="a.txt", old_string="caf", new_string="€")
    assert "latin-1" in desk.error("Write", file_path="a.txt", content="€")
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9\n"


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "target.txt").write_text("one\n")
    (tmp_path / "link.txt").symlink_to("real/target.txt")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "dangling").symlink_to("real/new.txt")
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="link.txt")
    assert not desk.call("Edit", file_path="link.txt", old_string="one", new_string="two").is_error
    assert not desk.call("Edit", file_path="folder/target.txt", old_string="two", new_string="three").is_error
    assert not desk.call("Write", file_path="dangling", content="new\n").is_error
    assert os.readlink(tmp_path / "link.txt") == "real/target.txt"
    assert os.readlink(tmp_path / "dangling") == "real/new.txt"
    assert (tmp_path / "real" / "target.txt").read_text() == "three\n"
    assert (tmp_path / "real" / "new.txt").read_text() == "new\n"


def test_mode_and_extended_attributes_stay(tmp_path: Path) -> None:
    desk = _known(tmp_path, "run.sh", b"#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o751)
    has_attributes = hasattr(os, "setxattr") and _marked(tmp_path / "run.sh")
    desk.call("Edit", file_path="run.sh", old_string="sh", new_string="bash", replace_all=True)
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o751
    if has_attributes:
        assert os.getxattr(tmp_path / "run.sh", "user.mark") == b"yes"


@pytest.mark.skipif(not IS_ROOT, reason="only root may give a file away")
def test_a_file_of_another_user_keeps_its_owner(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"one\n")
    os.chown(tmp_path / "a.txt", 12345, 54321)
    desk.call("Edit", file_path="a.txt", old_string="one", new_string="two")
    state = (tmp_path / "a.txt").stat()
    assert (state.st_uid, state.st_gid) == (12345, 54321)


def test_a_new_file_gets_the_usual_mode_and_its_folders(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        FileToolCalls(tmp_path).call("Write", file_path="deep/er/a.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "deep" / "er" / "a.txt").stat().st_mode) == 0o640
    assert leftover_files(tmp_path) == []


def test_a_file_that_may_not_be_written_is_left_alone() -> None:
    with _open_folder() as folder:
        folder.chmod(0o777)
        desk = _known(folder, "a.txt", b"one\n")
        (folder / "a.txt").chmod(0o444)
        with unprivileged():
            said = desk.error("Edit", file_path="a.txt", old_string="one", new_string="two")
        assert said.startswith("EACCES: permission denied")
        assert (folder / "a.txt").read_text() == "one\n"
        assert leftover_files(folder) == []


@pytest.mark.skipif(not IS_ROOT, reason="only root can make a folder that its own file's owner may not write")
def test_a_file_in_a_folder_that_takes_no_new_files_is_written_in_place() -> None:
    with _open_folder() as folder:
        desk = _known(folder, "a.txt", b"one and more\n")
        os.chown(folder / "a.txt", NOBODY_UID, NOBODY_UID)
        number = (folder / "a.txt").stat().st_ino
        with unprivileged():
            assert not desk.call("Edit", file_path="a.txt", old_string=" and more", new_string="!").is_error
        assert (folder / "a.txt").read_text() == "one!\n"
        assert (folder / "a.txt").stat().st_ino == number


def test_a_directory_that_takes_no_new_files_is_an_error(tmp_path: Path) -> None:
    desk = FileToolCalls(tmp_path)
    desk.call("Write", file_path="first", content="x")
    tmp_path.chmod(0o555)
    try:
        with unprivileged():
            assert "EACCES" in desk.error("Write", file_path=str(tmp_path / "a.txt"), content="x")
    finally:
        tmp_path.chmod(0o755)
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("tool", ["Edit", "Write"])
def test_a_file_that_was_changed_after_it_was_read_must_be_read_again(tmp_path: Path, tool: str) -> None:
    desk = _known(tmp_path, "a.txt", b"one\n")
    arguments = {"old_string": "one", "new_string": "two"} if tool == "Edit" else {"content": "two\n"}
    change_file(tmp_path, "append", "a.txt", "more\n")
    assert "File has been modified since read" in desk.error(tool, file_path="a.txt", **arguments)
    assert (tmp_path / "a.txt").read_text() == "one\nmore\n"
    desk.call("Read", file_path="a.txt")
    change_file(tmp_path, "touch", "a.txt")
    assert not desk.call(tool, file_path="a.txt", **arguments).is_error


def test_a_file_that_was_replaced_by_another_of_the_same_size_must_be_read_again(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"one\n")
    (tmp_path / "other").write_bytes(b"ten\n")
    os.replace(tmp_path / "other", tmp_path / "a.txt")
    assert "File has been modified since read" in desk.error("Write", file_path="a.txt", content="x")


def test_a_file_that_has_vanished_is_an_error(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"one\n")
    (tmp_path / "a.txt").unlink()
    assert "File does not exist." in desk.error("Edit", file_path="a.txt", old_string="one", new_string="two")
    assert "created successfully" in desk.text("Write", file_path="a.txt", content="x")


def test_a_partial_read_is_enough_for_an_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    desk = FileToolCalls(tmp_path)
    desk.call("Read", file_path="a.txt", offset=1, limit=1)
    assert not desk.call("Edit", file_path="a.txt", old_string="three", new_string="3").is_error


def test_edits_of_one_file_side_by_side_all_arrive(tmp_path: Path) -> None:
    names = [f"place {number};" for number in range(20)]
    desk = _known(tmp_path, "a.txt", "\n".join(names).encode())

    async def story() -> None:
        calls = [desk.calling("Edit", file_path="a.txt", old_string=name, new_string=name.upper()) for name in names]
        assert not any(answer.is_error for answer in await asyncio.gather(*calls))

    asyncio.run(story())
    assert (tmp_path / "a.txt").read_text() == "\n".join(names).upper()


def test_writes_of_one_file_side_by_side_all_arrive(tmp_path: Path) -> None:
    desk = _known(tmp_path, "a.txt", b"old\n")
    contents = [f"{number}\n" * 1000 for number in range(20)]

    async def story() -> None:
        calls = [desk.calling("Write", file_path="a.txt", content=content) for content in contents]
        assert not any(answer.is_error for answer in await asyncio.gather(*calls))

    asyncio.run(story())
    assert (tmp_path / "a.txt").read_text() in contents
    assert leftover_files(tmp_path) == []


def test_a_cancelled_edit_leaves_the_old_file_or_the_new_one_and_nothing_else(tmp_path: Path) -> None:
    old, new = b"a" * 3_000_000 + b"HERE", b"a" * 3_000_000 + b"there"
    outcomes = set()
    for ticks in range(40):
        (tmp_path / "a.txt").write_bytes(old)
        desk = FileToolCalls(tmp_path)
        desk.call("Read", file_path="a.txt", offset=9, limit=1)
        asyncio.run(_cancelled_after(desk, ticks))
        assert leftover_files(tmp_path) == []
        outcomes.add((tmp_path / "a.txt").read_bytes() == new)
        assert (tmp_path / "a.txt").read_bytes() in (old, new)
    assert False in outcomes


async def _cancelled_after(desk: FileToolCalls, ticks: int) -> None:
    task = asyncio.create_task(desk.calling("Edit", file_path="a.txt", old_string="HERE", new_string="there"))
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_file_of_a_megabyte_is_edited_and_one_that_is_too_large_refused(tmp_path: Path) -> None:
    text = "".join(f"line {number} with some words to fill it up\n" for number in range(25_000))
    (tmp_path / "a.txt").write_text(text)
    desk = FileToolCalls(tmp_path)
    assert len(text) > 1_000_000
    desk.call("Read", file_path="a.txt", offset=12_000, limit=10)
    answer = desk.call("Edit", file_path="a.txt", old_string="line 12005 with", new_string="LINE 12005 with")
    (hunk,) = answer.detail["structuredPatch"]
    assert (hunk["oldStart"], len(hunk["lines"])) == (12_003, 8)
    assert (tmp_path / "a.txt").read_text() == text.replace("line 12005", "LINE 12005")
    with (tmp_path / "a.txt").open("r+b") as file:
        file.truncate(40 * 1024 * 1024)
    desk.call("Read", file_path="a.txt", offset=1, limit=1)
    assert "too large to edit" in desk.error("Edit", file_path="a.txt", old_string="line 1 ", new_string="x")


def test_hostile_paths_and_texts_get_a_clear_answer(tmp_path: Path) -> None:
    desk = FileToolCalls(tmp_path)
    assert not desk.call("Write", file_path="two\nlines", content="x").is_error
    assert (tmp_path / "two\nlines").read_text() == "x"
    assert "NUL" in desk.error("Write", file_path="a\0b", content="x")
    assert "NUL" in desk.error("Edit", file_path="a\0b", old_string="x", new_string="y")
    assert "ENAMETOOLONG" in desk.error("Write", file_path="n" * 300, content="x")
    assert desk.error("Write", file_path=".", content="x") != ""
    assert not desk.call("Write", file_path="lone", content="a\ud800b").is_error
    assert (tmp_path / "lone").read_bytes() == b"a?b"
    assert not desk.call("Write", file_path="zero", content="a\0b").is_error
    assert (tmp_path / "zero").read_bytes() == b"a\0b"
    (tmp_path / "loop").symlink_to("loop")
    assert "ELOOP" in desk.error("Write", file_path="loop", content="x")
    assert "ENOTDIR" in desk.error("Write", file_path="zero/below", content="x")


def test_a_very_long_name_can_still_be_edited(tmp_path: Path) -> None:
    name = "n" * 255
    desk = _known(tmp_path, name, b"one")
    assert not desk.call("Edit", file_path=name, old_string="one", new_string="two").is_error


def _marked(path: Path) -> bool:
    try:
        os.setxattr(path, "user.mark", b"yes")
    except OSError:
        return False
    return True
