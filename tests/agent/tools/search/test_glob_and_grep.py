from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bridle.agent.tools.search.ripgrep import find_ripgrep
from tests.agent.fixtures.file_tool_calls import FileToolCalls, create_files

PAGED = "[Showing results with pagination ="


@pytest.fixture
def desk(tmp_path: Path) -> FileToolCalls:
    """A small repository with files of known ages, the later named the younger."""
    folder = tmp_path / "project"
    names = {
        ".gitignore": "ignored/\n*.log\n",
        "a.py": "import a\nFoo = 1\nfoo(2)\n",
        "src/c.py": "foo\nfoo\nfoo\nend\n",
        "src/sub/d.txt": "foo bar foo\nabc\n",
        ".hidden/e.py": "foo\n",
        "ignored/g.py": "foo\n",
        "x.log": "foo\n",
        "multi.txt": "begin\nfoo\nend foo\n",
        "we ird\nname.txt": "before\nfoo\n",
        "wide.txt": "y" * 700 + "foo\n",
        "crlf.txt": "foo\r\nx\r\n",
    }
    create_files(folder, {name: {"text": text} for name, text in names.items()})
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=60)
    for age, name in enumerate(names):
        os.utime(folder / name, (1_000_000 + age, 1_000_000 + age))
    return FileToolCalls(folder, results_folder=tmp_path / "results")


def test_files_are_found_by_name_the_oldest_first_hidden_and_ignored_ones_too(desk: FileToolCalls) -> None:
    assert desk.text("Glob", pattern="**/*.py").split("\n") == ["a.py", "src/c.py", ".hidden/e.py", "ignored/g.py"]
    assert desk.text("Glob", pattern="*.py") == desk.text("Glob", pattern="**/*.py")
    assert desk.text("Glob", pattern="{a,b}.py") == "a.py"
    assert desk.text("Glob", pattern="*.py", path="src") == "src/c.py"
    assert desk.text("Glob", pattern=str(desk.folder / "src" / "*.py")) == "src/c.py"
    assert desk.text("Glob", pattern=str(desk.folder / "src" / "c.py")) == "src/c.py"
    assert desk.text("Glob", pattern="src") == "No files found"
    assert desk.call("Glob", pattern="we*").detail["filenames"] == ["we ird\nname.txt"]


def test_what_git_keeps_for_itself_is_found_only_when_it_is_named(desk: FileToolCalls) -> None:
    assert ".git/HEAD" not in desk.text("Glob", pattern="**/*")
    assert ".git/HEAD" in desk.text("Glob", pattern=".git/*")
    assert ".git/HEAD" in desk.text("Glob", pattern="*", path=".git")


def test_of_what_must_not_be_read_a_search_tells_nothing(desk: FileToolCalls) -> None:
    blind = FileToolCalls(desk.folder, is_hidden=lambda path: "/src/" in path)
    assert blind.text("Glob", pattern="**/*.py").split("\n") == ["a.py", ".hidden/e.py", "ignored/g.py"]
    for mode in ("files_with_matches", "content", "count"):
        assert "src" in desk.text("Grep", pattern="foo", output_mode=mode)
        assert "src" not in blind.text("Grep", pattern="foo", output_mode=mode)
        assert "a.py" in blind.text("Grep", pattern="foo", output_mode=mode)
    around = blind.text("Grep", pattern="end", output_mode="content", **{"-B": 3})
    assert "multi.txt" in around
    assert "src" not in around
    assert blind.text("Grep", pattern="foo", path="src/c.py", output_mode="content") == "No matches found"


def test_more_files_than_can_be_shown_are_counted(desk: FileToolCalls) -> None:
    create_files(desk.folder, {f"many/f{number:03}.dat": {"text": ""} for number in range(130)})
    answer = desk.call("Glob", pattern="many/*")
    assert str(answer.content).endswith(
        "(Showing 100 of 130 matching files; 30 more are not listed. Narrow the pattern or path to see the rest.)"
    )
    assert (answer.detail["numFiles"], answer.detail["totalMatches"], answer.detail["truncated"]) == (100, 130, True)


def test_a_search_that_cannot_be_made_says_why(desk: FileToolCalls) -> None:
    assert "Directory does not exist: nowhere." in desk.error("Glob", pattern="*", path="nowhere")
    assert "Path is not a directory: a.py" in desk.error("Glob", pattern="*", path="a.py")
    assert "unclosed character class" in desk.error("Glob", pattern="[a")
    assert "Path does not exist: nowhere." in desk.error("Grep", pattern="x", path="nowhere")
    assert "unclosed group" in desk.error("Grep", pattern="(x")
    assert "unrecognized file type: zork" in desk.error("Grep", pattern="x", type="zork")
    assert "NUL" in desk.error("Grep", pattern="x", path="a\0b")
    assert "NUL" in desk.error("Glob", pattern="a\0b")


def test_files_with_matches_come_youngest_first_without_ignored_ones(desk: FileToolCalls) -> None:
    answer = desk.call("Grep", pattern="foo")
    assert answer.detail["filenames"] == [
        "crlf.txt",
        "wide.txt",
        "we ird\nname.txt",
        "multi.txt",
        ".hidden/e.py",
        "src/sub/d.txt",
        "src/c.py",
        "a.py",
    ]
    assert str(answer.content).startswith("Found 8 files\ncrlf.txt\n")
    assert desk.text("Grep", pattern="foo", path="ignored") == "Found 1 file\nignored/g.py"


def test_matching_lines_come_file_by_file(desk: FileToolCalls) -> None:
    assert desk.text("Grep", pattern="foo", output_mode="content").split("\n") == [
        ".hidden/e.py:1:foo",
        "a.py:3:foo(2)",
        "crlf.txt:1:foo",
        "multi.txt:2:foo",
        "multi.txt:3:end foo",
        "src/c.py:1:foo",
        "src/c.py:2:foo",
        "src/c.py:3:foo",
        "src/sub/d.txt:1:foo bar foo",
        "we ird",
        "name.txt:2:foo",
        "wide.txt:1:[Omitted long matching line]",
    ]


def test_lines_around_a_match_keep_the_whole_path_and_pieces_are_kept_apart(desk: FileToolCalls) -> None:
    said = desk.text("Grep", pattern="Foo|end$", output_mode="content", glob="*.py", **{"-B": 1})
    assert said.split("\n") == [
        f"{desk.folder}/a.py-1-import a",
        "a.py:2:Foo = 1",
        "--",
        f"{desk.folder}/src/c.py-3-foo",
        "src/c.py:4:end",
    ]
    (desk.folder / "colon.py").write_text("def sub(a):\n    return 1\n", encoding="utf-8")
    beside = desk.text("Grep", pattern="return 1", output_mode="content", glob="colon.py", **{"-B": 1})
    assert beside.split("\n") == ["colon.py-1-def sub(a):", "colon.py:2:    return 1"]
    plain = desk.text("Grep", pattern="Foo", output_mode="content", path="a.py", **{"-C": 1, "-n": False})
    assert plain == "import a\nFoo = 1\nfoo(2)"
    numbered = desk.text("Grep", pattern="Foo", output_mode="content", path="a.py", context=1)
    assert numbered == "1-import a\n2:Foo = 1\n3-foo(2)"
    several = desk.text("Grep", pattern="^(import|foo)", output_mode="content", path="a.py", **{"-A": "0"})
    assert several == "1:import a\n3:foo(2)"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "FOO", "-i": True, "path": "a.py"}, "2:Foo = 1\n3:foo(2)"),
        ({"pattern": "fo+", "-o": True, "path": "src/sub"}, "src/sub/d.txt:1:foo\nsrc/sub/d.txt:1:foo"),
        ({"pattern": "foo\\nend", "multiline": True, "path": "multi.txt"}, "2:foo\n3:end foo"),
        ({"pattern": "begin.*foo", "multiline": True, "path": "multi.txt"}, "1:begin\n2:foo\n3:end foo"),
        ({"pattern": "-foo", "path": "src"}, "No matches found"),
        ({"pattern": "foo", "path": "src", "head_limit": 2}, f"src/c.py:1:foo\nsrc/c.py:2:foo\n\n{PAGED} limit: 2]"),
        (
            {"pattern": "foo", "path": "src", "head_limit": 1, "offset": 3},
            f"src/sub/d.txt:1:foo bar foo\n\n{PAGED} offset: 3]",
        ),
        ({"pattern": "foo", "path": "src", "offset": 9}, f"No matches found\n\n{PAGED} offset: 9]"),
        ({"pattern": "end", "glob": "*.py,*.log", "type": "py", "path": "src"}, "src/c.py:4:end"),
        ({"pattern": "abc", "glob": "!*.py", "path": "src"}, "src/sub/d.txt:2:abc"),
    ],
)
def test_the_flags_of_a_search_do_what_they_say(desk: FileToolCalls, arguments: dict[str, object], said: str) -> None:
    assert desk.text("Grep", **{"output_mode": "content", **arguments}) == said


def test_lines_are_counted_file_by_file(desk: FileToolCalls) -> None:
    said = desk.text("Grep", pattern="foo", output_mode="count", glob="*.txt")
    assert said.split("\n") == [
        "crlf.txt:1",
        "multi.txt:2",
        "src/sub/d.txt:1",
        "we ird",
        "name.txt:1",
        "wide.txt:1",
        "",
        "Found 6 total occurrences across 5 files.",
    ]
    answer = desk.call("Grep", pattern="foo", output_mode="count", path="src", head_limit=1)
    assert str(answer.content).endswith("Found 3 total occurrences across 1 file. with pagination = limit: 1")
    assert answer.detail["appliedLimit"] == 1


def test_a_long_result_goes_to_a_file_and_its_beginning_to_the_model(desk: FileToolCalls, tmp_path: Path) -> None:
    text = "".join(f"row {number} {'x' * 300}\n" for number in range(600))
    (desk.folder / "rows.txt").write_text(text)
    answer = desk.call("Grep", pattern="row", output_mode="content")
    said = str(answer.content)
    kept = tmp_path / "results" / "toolu_01.txt"
    assert said.startswith(f"<persisted-output>\nOutput too large (78.4KB). Full output saved to: {kept}\n\nPreview")
    assert kept.read_text().count("\n") == 251
    assert kept.stat().st_mode & 0o777 == 0o600
    assert len(said) < 3000
    assert answer.detail["numLines"] == 250
    unkept = FileToolCalls(desk.folder).text("Grep", pattern="row", output_mode="content")
    assert unkept.startswith("<persisted-output>\nOutput too large (78.4KB). Narrow the search.")


def test_the_users_ripgrep_configuration_does_not_change_a_search(desk: FileToolCalls, tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("--max-count=1\n--heading\n")
    other = FileToolCalls(desk.folder, environment={"RIPGREP_CONFIG_PATH": str(tmp_path / "rc")})
    asked = {"pattern": "foo", "output_mode": "content", "path": "src"}
    assert other.text("Grep", **asked) == desk.text("Grep", **asked)


def test_names_that_are_no_text_do_no_harm(desk: FileToolCalls) -> None:
    (desk.folder / os.fsdecode(b"bad\xff.py")).write_bytes(b"foo \xff\xfe bar\n")
    assert "bad\ufffd.py" in desk.text("Glob", pattern="*.py")
    assert "bad\ufffd.py:1:foo \ufffd\ufffd bar" in desk.text("Grep", pattern="foo", output_mode="content")
    assert "bad\ufffd.py" in desk.text("Grep", pattern="foo")


def test_a_cancelled_search_leaves_no_program_behind(tmp_path: Path) -> None:
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 1 << 40)  # ripgrep reads a terabyte of holes for longer than the test
    desk = FileToolCalls(tmp_path)

    async def story() -> None:
        task = asyncio.create_task(desk.calling("Grep", pattern="x", path="large"))
        async with asyncio.timeout(30):
            while not _searches(tmp_path):
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert _searches(tmp_path) == []

    asyncio.run(story())


def test_the_program_is_found_beside_python_or_on_the_path(tmp_path: Path) -> None:
    found = find_ripgrep("")
    assert found is not None
    assert os.access(found, os.X_OK)


def _searches(folder: Path) -> list[str]:
    """Programs that read the large file."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "fd" / "0") == f"{folder}/large":
                found.append(entry.name)
        except OSError:
            continue
    return found
