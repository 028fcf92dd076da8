"""Patterns of `May edit:` and `protect` mean what the page says, and never a file outside of the repository."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.text.path_patterns import checked_pattern, matches


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("a.py", "a.py", True),
        ("a.py", "b/a.py", False),
        ("a.py", "a.pyc", False),
        ("*.py", "a.py", True),
        ("*.py", "b/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "b/c/a.py", True),
        ("**/a/**/b", "a/b", True),
        ("**/a/**/b", "x/a/y/z/b", True),
        ("**/a/**/b", "x/b", False),
        ("**/**/**/b", "b", True),
        ("a/**/**", "a/b/c", True),
        ("tests", "tests/deep/a.py", True),
        ("tests/", "tests/a.py", True),
        ("tests/**", "tests/deep/a.py", True),
        ("tests/**", "tests.py", False),
        ("tests/*", "tests/deep/a.py", True),
        ("t?st", "test", True),
        ("t?st", "t/st", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("[a-c]x", "bx", True),
        ("[c-a]x", "bx", False),
        ("a[!x]b", "a/b", False),
        ("a[.-0]b", "a/b", False),
        ("a[a--b]b", "abb", True),
        ("[[x]", "[x", True),
        ("{a,b/c}.txt", "a.txt", False),
        ("{a,b}_test.go", "b_test.go", True),
        ("{a*,b}.go", "abc.go", True),
        ("a+b(c).$", "a+b(c).$", True),
        ("a.b", "axb", False),
        ("ä/*", "ä/ö", True),
    ],
)
def test_a_pattern_matches_these_files(pattern: str, path: str, is_meant: bool) -> None:
    assert matches(pattern, path) is is_meant


@pytest.mark.parametrize(
    "pattern", ["", ".", "./", "/etc/passwd", "~/x", "../x", "a/../../x", "a\\..\\x", "C:\\x", "..", "./../x"]
)
def test_a_pattern_outside_the_repository_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"repository|matches no file"):
        checked_pattern(pattern)


@pytest.mark.parametrize(
    ("given", "kept"), [("./a", "a"), (" .//a ", "a"), ("a..b", "a..b"), (".github/**", ".github/**")]
)
def test_redundant_parts_of_a_pattern_are_dropped(given: str, kept: str) -> None:
    assert checked_pattern(given) == kept


@given(st.text(alphabet="ab/*?[]!-{},.\\^&|~", max_size=12), st.text(alphabet="ab/.-]^", max_size=8))
def test_no_pattern_raises_and_one_without_wildcards_matches_itself(pattern: str, path: str) -> None:
    matches(pattern, path)
    if path.strip("/") and not set(path) & set("*?[]{}") and "//" not in path:
        assert matches(path, path.strip("/"))
