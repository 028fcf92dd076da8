"""Whether the output of a check says that its runner ran no test. Pure; the exit code alone decides about the task."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# How runners say how many tests they ran: a number, or for those without a group that there was none.
_COUNTS = (
    *(
        r"Ran (\d+) tests?\b",
        r"=+ (?:.*, )?(\d+) (?:passed|failed|xfailed|xpassed|errors?)\b",
        r"(\d+) (?:passed|failed)\b",
    ),
    *(r"=* ?no tests ran in ", r"collected 0 items", r"NO TESTS RAN", r"=* ?\d+ (?:skipped|deselected)[^a-z]"),
    *(r"\?\s+\S+\s+\[no test files\]", r"ok\s+\S+\s+\S+\s+\[no tests to run\]", r"testing: warning: no tests to run"),
    *(
        r"test result: \w+\. (\d+) passed",
        r"No tests? (?:files? )?found, exiting with code 0",
        r"Tests:? .*?(\d+) (?:passed|total)",
    ),
    *(r"\s*(\d+) passing\b", r"(?:#|ℹ) tests (\d+)", r".*Tests run: (\d+)", r"(?:\[INFO\] )?No tests to run\."),
    *(r"> Task \S*[tT]est NO-SOURCE", r"No tests executed!", r"OK \((\d+) tests?", r"(\d+) examples?, "),
    *(r"No tests were found!!!", r".*tests failed out of (\d+)", r"Total tests: (\d+)", r"No test is available in "),
    *(r"make(?:\[\d+\])?: Nothing to be done for ", r"make(?:\[\d+\])?: '[^']*' is up to date\."),
)
_LINES = tuple(re.compile(pattern) for pattern in _COUNTS)
# `go test` prints one line for each package, without a number.
_GO_PACKAGE = re.compile(r"ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])")
_LINE_CHARACTERS = 100


def line_without_tests(output: str) -> str | None:
    """Return the line by which a runner says that it ran no test; None if another line counts some, or none says it."""
    found = None
    for line in _COLOURS.sub("", output).splitlines():
        if _GO_PACKAGE.match(line):
            return None
        for count in _counts(line):
            if count:
                return None
            found = found or line.strip()[:_LINE_CHARACTERS]
    return found


def _counts(line: str) -> Iterator[int]:
    for pattern in _LINES:
        if (match := pattern.match(line)) is not None:
            yield int(match[1]) if pattern.groups else 0
