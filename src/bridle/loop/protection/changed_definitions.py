"""Changed files that define how a check runs and that ordinary work edits: they are not restored, but reported."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.protected_parts import Protected
from bridle.loop.protection.tree_changes import Change, texts_of
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext

# The most files that are reported singly.
_SHOWN = 20


async def report_definitions(context: RunContext, protected: Protected, changes: Sequence[Change]) -> list[FileReport]:
    """Report the changed definitions, by the table of `runner_table`."""
    reports = []
    for change in changes:
        for pattern, program in protected.definitions.items():
            name, _, key = pattern.partition("#")
            if matches(name, posixpath.basename(change.path)) and (not key or await _has_changed(context, change, key)):
                part = f"`{key}` of it" if key else "it"
                verb = "added" if change.is_new else "deleted" if change.is_gone else "changed"
                reports.append(
                    FileReport(change.path, f"{part} defines how the check runs ({program}), and was {verb}")
                )
                break
    more = [FileReport(".", f"{len(reports) - _SHOWN} more files that define how checks run were changed")]
    return [*reports[:_SHOWN], *(more if len(reports) > _SHOWN else ())]


async def _has_changed(context: RunContext, change: Change, key: str) -> bool:
    """Return whether a key of a JSON file was changed; a text that cannot be read counts as one without it."""
    texts = await texts_of(context, {change.before, change.after})
    return _value(texts.get(change.before, ""), key) != _value(texts.get(change.after, ""), key)


def _value(text: str, key: str) -> object:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document.get(key) if isinstance(document, dict) else None
