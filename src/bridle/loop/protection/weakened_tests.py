"""What became of the tests that were there: deleted, skipped, emptied, or asserting less. Pure; told, not undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bridle.loop.protection.reports import Report
from bridle.loop.protection.suites.read_suite import suite_of
from bridle.loop.protection.suites.suite import Suite

# Enough names to see which tests are meant.
_SHOWN = 5


def weakened(before: Mapping[str, str], after: Mapping[str, str]) -> list[Report]:
    """What tests of files as they were are no longer what they were; a test that was moved is still there."""
    now = {path: suite_of(path, text) for path, text in after.items()}
    everywhere = {_plain(name) for suite in now.values() for name in suite.by_name}
    reports: list[Report] = []
    for path in sorted(before):
        was = suite_of(path, before[path])
        if path not in after:
            lost = [name for name in was.by_name if _plain(name) not in everywhere]
            if lost:
                reports.append(Report(path, f"it was deleted, and with it {_listed('test', lost)}"))
        elif was.by_name:
            reports += [Report(path, what) for what in _compared(was, now[path], after[path], everywhere)]
    return reports


def _compared(was: Suite, now: Suite, text: str, everywhere: set[str]) -> Iterable[str]:
    lost = [name for name in was.by_name if name not in now.by_name and _plain(name) not in everywhere]
    if not text.strip():
        yield f"it was emptied of {_listed('test', lost or list(was.by_name))}"
        return
    if lost:
        yield f"{_listed('test', lost)} gone"
    both = [(name, was.by_name[name], now.by_name[name]) for name in was.by_name if name in now.by_name]
    skipped = [name for name, old, new in both if new.is_skipped and not old.is_skipped]
    if skipped:
        yield f"{_listed('test', skipped)} skipped now"
    emptied = [name for name, old, new in both if new.is_empty and not old.is_empty]
    if emptied:
        yield f"{_listed('test', emptied)} empty now"
    less = [
        f"{name}: {old.assertions} before, {new.assertions} now"
        for name, old, new in both
        if new.assertions < old.assertions and name not in emptied
    ]
    if less:
        yield f"{_listed('test', less)} asserting less"
    if now.is_focused and not was.is_focused:
        yield "some tests are marked to be the only ones that run"


def _listed(what: str, names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"{len(names)} {what}{'s' if len(names) != 1 else ''} ({shown})"


def _plain(name: str) -> str:
    """A test's name without its class: a class may be split or renamed."""
    return name.rpartition(".")[2]
