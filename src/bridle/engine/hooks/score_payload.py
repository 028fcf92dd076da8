"""What counts as a score, and what the hooks of `on-score` are told. Imported by commands that must start at once."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.journal.format.entries import OK, Data, Posted

FIELD = "score"
RESULT = "result"
"""Where the value of a command keeps the document that the command printed."""


def told(resolved: Data, posted: Posted) -> dict[str, object] | None:
    """What to tell of a result that is a score; None where it is none.

    A score is an `ok` whose value, or the document that a command printed, is an object with a number under `score`.
    A bare number may be anything, and `true` is a number to Python only.
    """
    if posted.status != OK or not isinstance(posted.value, Mapping):
        return None
    for value in (posted.value, posted.value.get(RESULT)):
        score = value.get(FIELD) if isinstance(value, Mapping) else None
        if isinstance(score, (int, float)) and not isinstance(score, bool):
            return {"effectId": resolved["effectId"], FIELD: score, "value": value, "resultRef": resolved["resultRef"]}
    return None
