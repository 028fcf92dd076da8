"""Tests that were deleted, skipped, emptied or assert less. Pure; they are reported, not restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.suites.read_suite import suite_of
from bridle.loop.protection.suites.suite import Suite

# The most test names in one report.
_SHOWN = 5


def find_weakened(before: Mapping[str, str], after: Mapping[str, str]) -> list[FileReport]:
    """Report tests that were weakened between two states of files. A moved test is not reported."""
    now = {path: suite_of(path, text) for path, text in after.items()}
    everywhere = {_plain(name) for suite in now.values() for name in suite.by_name}
    reports: list[FileReport] = []
    for path in sorted(before):
        was = suite_of(path, before[path])
        if path not in after:
            lost = [name for name in was.by_name if _plain(name) not in everywhere]
            if lost:
                reports.append(FileReport(path, f"it was deleted with {_listed('test', lost)}"))
        elif was.by_name:
            reports += [FileReport(path, change) for change in _compare(was, now[path], after[path], everywhere)]
    return reports


def _compare(was: Suite, now: Suite, text: str, everywhere: set[str]) -> Iterable[str]:
    lost = [name for name in was.by_name if name not in now.by_name and _plain(name) not in everywhere]
    if not text.strip():
        yield f"it was emptied of {_listed('test', lost or list(was.by_name))}"
        return
    if lost:
        yield f"{_listed('test', lost)} deleted"
    both = [(name, was.by_name[name], now.by_name[name]) for name in was.by_name if name in now.by_name]
    skipped = [name for name, old, new in both if new.is_skipped and not old.is_skipped]
    if skipped:
        yield f"{_listed('test', skipped)} now skipped"
    emptied = [name for name, old, new in both if new.is_empty and not old.is_empty]
    if emptied:
        yield f"{_listed('test', emptied)} now empty"
    less = [
        f"{name}: {old.assertions} before, {new.assertions} now"
        for name, old, new in both
        if new.assertions < old.assertions and name not in emptied
    ]
    if less:
        yield f"{_listed('test', less)} with fewer assertions"
    if now.is_focused and not was.is_focused:
        yield "some tests are now marked to run exclusively"


def _listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"{len(names)} {noun}{'s' if len(names) != 1 else ''} ({shown})"


def _plain(name: str) -> str:
    """Return a test's name without its class, which may be split or renamed."""
    return name.rpartition(".")[2]
