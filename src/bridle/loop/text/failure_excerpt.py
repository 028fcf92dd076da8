"""The part of a failed check's output that matters: the first failure and the runner's summary. Pure.

A runner that is not known has its first line that names an error, and its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Pattern

from msgspec import Struct

# What is kept for prompts and the journal; displays show fewer lines of it.
EXCERPT_LINES = 40
EXCERPT_CHARACTERS = 6_000
# Of one line: a minified file can be one.
_LINE_CHARACTERS = 400
_SUMMARY_LINES = 8
_GAP = "…"

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Runner(Struct, frozen=True):
    """How a test runner prints its failures."""

    start: Pattern[str]
    """The first line of a failure."""
    stop: Pattern[str]
    """The first line after it."""
    summary: Pattern[str]
    """Lines that say how many failed, or which."""
    keeps_end: bool = False
    """Whether the end of a long failure says more than its beginning."""
    noise: Pattern[str] = re.compile(r"[-=_⎯]{10,}$")
    """Lines of a failure that say nothing."""


def _runner(start: str, stop: str, summary: str, *, keeps_end: bool = False) -> Runner:
    return Runner(re.compile(start), re.compile(stop), re.compile(summary), keeps_end)


_TAP = Runner(
    start=re.compile(r"\s*not ok \d+"),
    stop=re.compile(r"\s*\.\.\.$|\s*#|\s*ok \d+|\s+stack: "),
    summary=re.compile(r"# (tests|pass|fail) \d+|not ok \d+"),
    noise=re.compile(r"\s+(---$|(duration_ms|type|failureType|code|name|operator): )"),
)


_PYTEST_SUMMARY = (
    r"(FAILED|ERROR) \S|=+ .*\b(failed|passed|errors?)\b.* in [\d.]+|\d+ (failed|passed|errors?)\b.* in [\d.]+s"
)
_RUNNERS = (
    _runner(r"_{3,} .+ _{3,}$", r"_{3,} .+ _{3,}$|={3,} |-{3,} Captured", _PYTEST_SUMMARY, keeps_end=True),  # pytest
    _runner(  # unittest
        r"(FAIL|ERROR): \S+ \(", r"={20,}$|Ran \d+ tests? in", r"FAILED \(|Ran \d+ tests? in", keeps_end=True
    ),
    _runner(r"\s*● .+", r"\s*● .+|Test Suites:", r"Tests?( Suites)?: +.*\bfailed\b|FAIL \S"),  # jest
    _runner(r" FAIL  \S", r"⎯{5,}| FAIL  \S", r"\s*(Test Files|Tests)  .*\bfailed\b"),  # vitest
    _TAP,  # node --test
    _runner(r"✖ failing tests:", r"\Z", r"ℹ (tests|pass|fail) \d+"),  # node --test on a terminal
    _runner(r"\s*--- FAIL: ", r"(--- |FAIL|ok  |PASS)", r"FAIL\t|FAIL$|--- FAIL: |panic: "),  # go test
    _runner(
        r"---- .+ stdout ----$",
        r"---- .+ stdout ----$|failures:$|stack backtrace:|note: ",
        r"test result: FAILED|test \S+ \.\.\. FAILED",
    ),  # cargo test
    _runner(r"error(\[E\d+\])?: ", r"$", r"error: (could not compile|aborting|test failed)"),  # rustc
    _runner(r"\S+\(\d+,\d+\): error TS\d+|\S+:\d+:\d+ - error TS\d+", r"$", r"Found \d+ errors?"),  # tsc
    _runner(r"\s+\d+:\d+\s+error\s", r"$", r"✖ \d+ problems?"),  # eslint
    _runner(r"Traceback \(most recent call last\):", r"$", r"\w+(Error|Exception)\b", keeps_end=True),
)
# Printed after the failure by what called the runner.
_CALLERS = re.compile(r"g?make(\[\d+\])?: \*\*\* |npm (ERR!|error) |error Command failed|ninja: build stopped")
_ERROR = re.compile(
    r"\b(error|failed|failure|fatal|panic|exception|undefined|cannot|not found|no such file)\b", re.IGNORECASE
)
_CONTEXT_LINES = 4


def failure_excerpt(output: str, *, lines: int = EXCERPT_LINES) -> str:
    """Return the first failure and the summary of an output, at most so many lines; a short one as it is."""
    text = [_COLOURS.sub("", line).rstrip()[:_LINE_CHARACTERS] for line in output.splitlines()]
    shown = [line for line in text if line]
    if len(shown) <= lines:
        return "\n".join(shown)
    found = ((runner, _first(text, runner.start)) for runner in _RUNNERS)
    runner, start = next(((runner, start) for runner, start in found if start is not None), (None, None))
    if runner is None or start is None:
        return "\n".join(_of_unknown_runner(shown, lines))
    return "\n".join(_of_runner(text, runner, start, lines))


def _of_runner(text: Sequence[str], runner: Runner, start: int, lines: int) -> list[str]:
    """Return the first failure, and below it the lines of the summary that it does not contain."""
    end = next((at for at in range(start + 1, len(text)) if runner.stop.match(text[at])), len(text))
    failure = [line for line in text[start:end] if line and not runner.noise.match(line)]
    after = [*text[:start], *text[end:]]
    summary = [line for line in after if runner.summary.match(line) or _CALLERS.match(line)][-_SUMMARY_LINES:]
    return [*_shorten(failure, max(3, lines - len(summary) - 2), keeps_end=runner.keeps_end), *summary]


def _of_unknown_runner(shown: Sequence[str], lines: int) -> list[str]:
    """Return the first lines that name an error, and the end."""
    end = lines // 2
    first = _first(shown[:-end], _ERROR, is_search=True)
    if first is None:
        return [_GAP, *shown[-lines + 1 :]]
    around = shown[max(0, first - 1) : min(len(shown) - end, first + _CONTEXT_LINES)]
    return [*around, _GAP, *shown[-(lines - len(around) - 1) :][-end:]]


def _shorten(failure: Sequence[str], room: int, *, keeps_end: bool) -> list[str]:
    if len(failure) <= room:
        return list(failure)
    if keeps_end:
        return [failure[0], _GAP, *failure[-(room - 2) :]] if room > 2 else list(failure[-room:])
    return [*failure[: room - 1], _GAP]


def _first(text: Sequence[str], pattern: Pattern[str], *, is_search: bool = False) -> int | None:
    match = pattern.search if is_search else pattern.match
    return next((at for at, line in enumerate(text) if match(line)), None)
