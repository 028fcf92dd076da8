"""Where paths lead, with real files and links; and what a pattern of a file rule means."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.permissions.rules.rule_paths import (
    LIMIT_MATCHES,
    glob_matches,
    is_inside,
    is_protected,
    matches,
)
from bridle.ground.files.real_path import PATH_LIMIT_CHARACTERS, resolve

HOME = "/home/me"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    base = tmp_path.resolve()
    (base / "work" / "src").mkdir(parents=True)
    (base / "outside" / "deep").mkdir(parents=True)
    (base / "work" / "a.txt").write_text("a")
    (base / "work" / "out").symlink_to(base / "outside")
    (base / "work" / "deep").symlink_to("out/deep")
    (base / "work" / "loop").symlink_to("pool")
    (base / "work" / "pool").symlink_to("loop")
    (base / "work" / "dangling").symlink_to("../not/there")
    return base / "work"


def test_a_path_is_followed_through_links_as_the_kernel_does(work: Path) -> None:
    above = work.parent
    expected = {
        "a.txt": work / "a.txt",
        "src/../a.txt": work / "a.txt",
        str(work / "a.txt"): work / "a.txt",
        "out/x": above / "outside" / "x",
        "deep/x": above / "outside" / "deep" / "x",
        "deep/../x": above / "outside" / "x",
        f"out/../{work.name}/a.txt": work / "a.txt",
        "new/../../x": above / "x",
        "new/folder/x": work / "new" / "folder" / "x",
        "dangling": above / "not" / "there",
        "dangling/x": above / "not" / "there" / "x",
        "~/x": Path(HOME) / "x",
        "./~/x": work / "~" / "x",
        "//etc": Path("/etc"),
    }
    assert {path: resolve(path, str(work), HOME) for path in expected} == {
        path: str(target) for path, target in expected.items()
    }


def test_what_a_path_resolves_to_is_the_file_that_opening_it_opens(work: Path) -> None:
    (work.parent / "outside" / "x").write_text("outside")
    (work / "x").write_text("inside")
    resolved = resolve("deep/../x", str(work), HOME)
    assert resolved is not None
    assert Path(resolved).read_text() == (work / "deep/../x").read_text() == "outside"


@pytest.mark.parametrize("path", ["loop", "loop/x", "a\0b", "x" * (PATH_LIMIT_CHARACTERS + 1)])
def test_a_path_that_leads_nowhere_is_not_resolved(path: str, work: Path) -> None:
    assert resolve(path, str(work), HOME) is None


def test_a_folder_whose_name_only_begins_the_same_is_not_inside() -> None:
    assert is_inside("/a/b", ("/a/b",))
    assert is_inside("/a/b/c", ("/x", "/a/b"))
    assert is_inside("/a", ("/",))
    assert not is_inside("/a/bc", ("/a/b",))
    assert not is_inside("/a", ("/a/b",))


@pytest.mark.parametrize(
    "path",
    [
        "/w/.git/config",
        "/w/.git",
        "/w/.GIT/x",
        "/w/.claude/settings.json",
        "/w/.bashrc",
        "/w/a/.zshrc",
        "/h/.ssh/id",
        "/w/.mcp.json",
    ],
)
def test_what_decides_about_other_programs_is_protected(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize("path", ["/w/.gitignore", "/w/.github/x", "/w/git/config", "/w/bashrc", "/w/a.git"])
def test_other_files_are_not_protected(path: str) -> None:
    assert not is_protected(path)


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        ("src/**", ["/w/src/a", "/w/src/a/b"], ["/w/a", "/w/x/src/a", "/srcx"]),
        ("./src/*", ["/w/src/a", "/w/src/a/b"], ["/w/a"]),
        ("/src/**", ["/w/src/a"], ["/src/a"]),
        ("//src/**", ["/src/a"], ["/w/src/a"]),
        ("~/x", ["/home/me/x", "/home/me/x/y"], ["/w/x", "/home/me/xy"]),
        (".env", ["/w/.env", "/w/a/b/.env"], ["/w/.envx", "/x/.env"]),
        ("*.key", ["/w/a.key", "/w/b/c.key", "/w/d.key/e"], ["/w/a.keys"]),
        ("secrets", ["/w/secrets", "/w/secrets/a", "/w/b/secrets/c"], ["/w/secretsx"]),
        ("secrets/", ["/w/secrets/a"], ["/w/secretsx/a"]),
        ("a/**/b", ["/w/a/b", "/w/a/x/b", "/w/a/x/y/b/c"], ["/w/ab"]),
        ("a?c", ["/w/abc"], ["/w/ac", "/w/a/c"]),
        ("../x/**", ["/x/a"], ["/w/x/a"]),
        ("a.c", ["/w/a.c"], ["/w/abc"]),
    ],
)
def test_a_pattern_means_paths_as_in_an_ignore_file(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    assert [path for path in meant if not matches(pattern, path, cwd="/w", home=HOME)] == []
    assert [path for path in not_meant if matches(pattern, path, cwd="/w", home=HOME)] == []


def test_a_wildcard_means_at_least_what_bash_makes_of_it(work: Path) -> None:
    (work / ".hidden").write_text("")
    (work / "-x").write_text("")
    (work / "src" / "b.txt").write_text("")

    def found(pattern: str) -> list[str]:
        place = min(pattern.find(sign) for sign in "*?[" if sign in pattern)
        names = glob_matches(pattern, place, str(work))
        assert names is not None
        return sorted(names)

    assert found("*.txt") == ["a.txt"]
    assert found("s*/*.txt") == ["src/b.txt"]
    assert found("./*.t?t") == ["./a.txt"]
    assert "-x" in found("*")
    assert ".hidden" not in found("*")
    assert found(".h*") == [".hidden"]
    assert "a.txt" in found("[ab].txt")
    assert found("nothing*") == []


def test_a_wildcard_for_too_many_files_is_not_followed(tmp_path: Path) -> None:
    for number in range(LIMIT_MATCHES + 1):
        (tmp_path / str(number)).touch()
    assert glob_matches("*", 0, str(tmp_path)) is None
