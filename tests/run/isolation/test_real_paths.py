"""A path is resolved as `os.path.realpath` does: once for one start of a sandbox, and anew for the next."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.run.isolation import program_view
from bridle.run.isolation.name_patterns import matches_any
from bridle.run.isolation.real_paths import real, resolved_once


def make_tree(tmp_path: Path) -> Path:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "file").touch()
    for link, target in {
        "to_a": "a",
        "a/up": "..",
        "a/b/absolute": str(tmp_path / "to_a"),
        "chain": "to_a/b/absolute/up",
        "dangling": "missing/x",
        "loop": "pool",
        "pool": "loop",
        "self": "self/x",
    }.items():
        (tmp_path / link).symlink_to(target)
    return tmp_path


PARTS = ["a", "b", "to_a", "up", "absolute", "chain", "dangling", "loop", "self", "file", "missing", "..", ".", ""]


@given(paths=st.lists(st.lists(st.sampled_from(PARTS), max_size=6), min_size=1, max_size=8))
def test_it_is_what_realpath_returns(paths: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    top = tmp_path_factory.getbasetemp() / "tree"
    if not top.exists():
        top.mkdir()
        make_tree(top)
    texts = ["/", "//", "a/..", *("/".join((str(top), *parts)) for parts in paths)]
    with resolved_once():
        for _ in range(2):
            assert [real(text) for text in texts] == [os.path.realpath(text) for text in texts]
    assert [real(text) for text in texts] == [os.path.realpath(text) for text in texts]


def test_a_link_that_an_agent_changes_is_seen_at_the_next_start(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    link = tree / "to_a"
    with resolved_once():
        assert real(link / "b") == str(tree / "a/b")
    link.unlink()
    link.symlink_to("/")
    with resolved_once():
        assert real(link / "b") == "/b"
        with resolved_once():
            assert real(link) == "/"
    link.unlink()
    assert real(link) == str(link)


def test_a_link_that_is_added_to_a_folder_of_programs_is_found_at_the_next_start(tmp_path: Path) -> None:
    programs = tmp_path / "home/bin"
    other = tmp_path / "home/.other/bin"
    for folder in (programs, other):
        folder.mkdir(parents=True)
    for name in ("one", "two"):
        (other / name).touch(mode=0o755)
        (programs / name).symlink_to(other / name)
        assert (str(programs / name), str(other / name)) in program_view._linked(str(programs), tmp_path / "home", ())
    (programs / "one").unlink()
    (programs / "one").symlink_to("/bin/sh")
    assert str(other / "one") not in dict(program_view._linked(str(programs), tmp_path / "home", ())).values()


@given(
    patterns=st.lists(st.text("ab*?[!].-", max_size=4), max_size=4),
    name=st.text("ab.-[\n", max_size=5),
)
def test_a_name_matches_one_of_the_patterns(patterns: list[str], name: str) -> None:
    assert bool(matches_any(tuple(patterns))(name)) == any(fnmatchcase(name, pattern) for pattern in patterns)
