from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.agent.prompt.mentions import ENTRY_LIMIT, FILE_LIMIT, FILE_LIMIT_BYTES, LINE_LIMIT, Mention
from bridle.agent.prompt.mentions import read_mentions as read
from bridle.agent.tools.files.known_files import FileMemory
from tests.agent.fixtures.agent_on_stage import agent_on_stage, calls, says

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def read_mentions(
    text: str, cwd: Path, folders: list[Path], may_read: Callable[[Path], bool] | None = None
) -> list[Mention]:
    return read(text, cwd, folders, memory=FileMemory(), may_read=may_read)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "note.txt").write_text("one\ntwo\n")
    (folder / "sub" / "a b.txt").write_text("spaced")
    (folder / "binary").write_bytes(b"a\0b")
    (folder / "big").write_text("x" * (FILE_LIMIT_BYTES + 1))
    (folder / "out").symlink_to("/etc/passwd")
    (tmp_path / "secret").write_text("secret")
    return folder


def names(text: str, project: Path) -> list[str]:
    return [str(one.path.relative_to(project.resolve())) for one in read_mentions(text, project, [])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @note.txt", ["note.txt"]),
        ("@note.txt, please. (@note.txt)", ["note.txt"]),
        ('@"sub/a b.txt" and @note.txt!', ["sub/a b.txt", "note.txt"]),
        ("@./sub/../note.txt", ["note.txt"]),
        ("mail me@note.txt", []),
        ("@missing @ @@ @... @..", []),
        ("@sub, @sub/ and @.", ["sub", "."]),
        ("@../secret @/etc/passwd @out @~/x", []),
        ("@binary @big", []),
        ("@no\0te", []),
    ],
)
def test_files_inside_the_folders_go_along_and_nothing_else(project: Path, text: str, found: list[str]) -> None:
    assert names(text, project) == found


def test_a_mentioned_file_has_its_path_and_numbered_lines(project: Path) -> None:
    (one,) = read_mentions("@note.txt", project, [])
    place = os.path.realpath(project / "note.txt")
    assert one.blocks[0]["text"] == f"The file {place}, mentioned in the message:\n1\tone\n2\ttwo\n3\t"


def test_added_folders_count_and_a_refusal_holds(project: Path, tmp_path: Path) -> None:
    text = f"@{tmp_path}/secret @note.txt"
    assert len(read_mentions(text, project, [tmp_path])) == 2
    allowed = read_mentions(text, project, [tmp_path], may_read=lambda path: path.name != "secret")
    assert [one.path.name for one in allowed] == ["note.txt"]


def test_a_long_list_of_files_is_cut(project: Path) -> None:
    for number in range(FILE_LIMIT + 5):
        (project / f"f{number}").write_text("x")
    assert len(read_mentions(" ".join(f"@f{number}" for number in range(FILE_LIMIT + 5)), project, [])) == FILE_LIMIT


def test_a_folder_is_listed(project: Path) -> None:
    (one,) = read_mentions("@.", project, [])
    assert one.blocks[0]["text"].endswith("has:\nbig\nbinary\nnote.txt\nout\nsub/")
    for number in range(ENTRY_LIMIT):
        (project / "sub" / str(number)).touch()
    (many,) = read_mentions("@sub", project, [])
    assert many.blocks[0]["text"].endswith("… and 1 more")


def test_a_long_file_is_cut_after_2000_lines_and_says_so(project: Path) -> None:
    (project / "long").write_text("line\n" * 3000)
    (one,) = read_mentions("@long", project, [])
    head, *lines = one.blocks[0]["text"].split("\n")
    assert len(lines) == LINE_LIMIT == 2000
    assert "the first 2000 of 3001 lines" in head


def test_a_picture_is_attached_and_an_invalid_one_is_not(project: Path) -> None:
    (project / "a.png").write_bytes(PNG)
    (project / "b.png").write_text("<html>")
    (project / "c.png").write_bytes(PNG[:15])
    (one,) = read_mentions("@a.png @b.png @c.png", project, [])
    assert one.path.name == "a.png"
    source = {"type": "base64", "data": base64.b64encode(PNG).decode(), "media_type": "image/png"}
    assert one.blocks[1:] == [{"type": "image", "source": source}]


def test_the_model_gets_what_a_prompt_mentions_and_may_edit_it_without_a_read(tmp_path: Path) -> None:
    edit = calls("Edit", file_path="note.txt", old_string="one", new_string="two")
    with agent_on_stage(tmp_path, edit, says("done")) as place:
        (place.workspace / "note.txt").write_text("one\n")
        (place.workspace / "a.png").write_bytes(PNG)
        done = place.ask("change @note.txt as in @a.png")
        kinds = [block["type"] for block in place.blocks(0)]
    assert (place.workspace / "note.txt").read_text() == "two\n"
    assert kinds.count("image") == 1
    assert done.result["is_error"] is False
