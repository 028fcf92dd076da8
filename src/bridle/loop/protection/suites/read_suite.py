"""Which files may have tests, and the reader for each language. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from bridle.loop.protection.suites.other_languages import READERS
from bridle.loop.protection.suites.python_suite import python_suite
from bridle.loop.protection.suites.suite import Suite

_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing", "e2e"})
_NAMES = re.compile(
    r"test_.*\.py|.*_test\.(?:py|go|rb)|.*_spec\.rb|.*[.-](?:test|spec)\.[cm]?[jt]sx?|.*Tests?\.(?:java|kt|php)|.*\.rs",
    re.DOTALL,
)
_READERS: dict[str, Callable[[str], Suite]] = {".py": python_suite, **READERS}


def may_hold_tests(path: str) -> bool:
    """Return whether a file may have tests; in Rust any file may."""
    *folders, name = path.split("/")
    is_known = posixpath.splitext(name)[1] in _READERS
    return is_known and (bool(_NAMES.fullmatch(name)) or any(folder in _FOLDERS for folder in folders))


def suite_of(path: str, text: str) -> Suite:
    """Return the tests of a file; an unknown language has none."""
    read = _READERS.get(posixpath.splitext(path)[1])
    return read(text) if read is not None else Suite({})
