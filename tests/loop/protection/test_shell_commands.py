"""Every simple command of a check is found, with the folder it runs in and the paths among its words."""

from __future__ import annotations

import shlex

import pytest

from bridle.loop.protection.shell_commands import candidates, is_pattern, join, module_paths, simple_commands


def parts(line: str) -> list[tuple[str, str]]:
    return [(" ".join(command.words), command.folder) for command in simple_commands(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest -q tests", [("pytest -q tests", "")]),
        ("a && b; c | d & e", [("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")]),
        ("cd web && npm test", [("npm test", "web")]),
        ("cd a; cd ../b; x", [("x", "b")]),
        ("A=1 cd a && x", [("x", "a")]),
        ("(cd a && x); y", [("x", "a"), ("y", "a")]),
        ("cd; x", [("cd", ""), ("x", "")]),
        ("x # comment && y", [("x", "")]),
        ("x # comment\ny", [("x", ""), ("y", "")]),
        ("x \\\n  y", [("x y", "")]),
        ("x > out 2>&1", [("x out 2", ""), ("1", "")]),
        ("sh -c 'cd a && pytest b'", [("sh -c cd a && pytest b", ""), ("pytest b", "a")]),
        ("echo `x y`", [("echo", ""), ("x y", "")]),
        ("echo $(x y)", [("echo $", ""), ("x y", "")]),
        ("x 'unclosed y", [("x unclosed y", "")]),
        ("", []),
    ],
)
def test_a_line_is_split_into_its_commands(line: str, expected: list[tuple[str, str]]) -> None:
    assert parts(line) == expected


def test_commands_in_commands_are_followed_to_a_depth() -> None:
    nested = "deep x"
    for _ in range(3):
        nested = f"sh -c {shlex.quote(nested)}"
    assert any(words == "deep x" for words, _ in parts(nested))


@pytest.mark.parametrize(
    ("word", "paths"),
    [
        ("tests/a.py", {"tests/a.py"}),
        ("tests/a.py::test_x", {"tests/a.py"}),
        ("spec/a.rb:12", {"spec/a.rb"}),
        ("--config=a.toml", {"a.toml"}),
        ("-ca.toml", {"a.toml"}),
        ("@args.txt", {"args.txt"}),
        ("--files=a,b", {"a", "b"}),
    ],
)
def test_the_paths_in_a_word_are_candidates(word: str, paths: set[str]) -> None:
    assert paths <= set(candidates(word))


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("tests.test_x.Case", ["tests/test_x/Case.py", "tests/test_x.py", "tests.py"]),
        ("tests/x.py", []),
        ("-x", []),
        ("a..b", []),
    ],
)
def test_a_module_may_be_one_of_several_files(name: str, files: list[str]) -> None:
    assert [path for path in module_paths(name) if not path.endswith("__main__.py")] == files


def test_paths_are_relative_to_the_top() -> None:
    assert [join("a", path) for path in ("b", "../b", "../..", ".", "/x", "..")] == ["a/b", "b", "..", "a", "/x", ""]
    assert [is_pattern(word) for word in ("*.py", "a?", "[ab]", "a.py")] == [True, True, True, False]
