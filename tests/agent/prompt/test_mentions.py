from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.agent.prompt.mentions import FILE_LIMIT, FILE_LIMIT_BYTES, read_mentions


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
        ("@missing @sub @ @@", []),
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
    assert one.text == f"The file {place}, mentioned in the message:\n1\tone\n2\ttwo\n3\t"


def test_added_folders_count_and_a_refusal_holds(project: Path, tmp_path: Path) -> None:
    text = f"@{tmp_path}/secret @note.txt"
    assert len(read_mentions(text, project, [tmp_path])) == 2
    allowed = read_mentions(text, project, [tmp_path], may_read=lambda path: path.name != "secret")
    assert [one.path.name for one in allowed] == ["note.txt"]


def test_a_long_list_of_files_is_cut(project: Path) -> None:
    for number in range(FILE_LIMIT + 5):
        (project / f"f{number}").write_text("x")
    assert len(read_mentions(" ".join(f"@f{number}" for number in range(FILE_LIMIT + 5)), project, [])) == FILE_LIMIT
