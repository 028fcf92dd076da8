"""Scores and the payload of the `on-score` hooks. Commands that must start fast import this module."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.journal.format.entries import OK, Data, Posted

FIELD = "score"
RESULT = "result"
"""The field of a command's value with the JSON that the command printed."""


def score_payload(resolved: Data, posted: Posted) -> dict[str, object] | None:
    """Return the payload for a result that is a score, else None.

    A score is an `ok` whose value, or the JSON that a command printed, is an object with a number in `score`.
    A bare number may mean anything, and `true` is a number only to Python.
    """
    if posted.status != OK or not isinstance(posted.value, Mapping):
        return None
    for value in (posted.value, posted.value.get(RESULT)):
        score = value.get(FIELD) if isinstance(value, Mapping) else None
        if isinstance(score, (int, float)) and not isinstance(score, bool):
            return {"effectId": resolved["effectId"], FIELD: score, "value": value, "resultRef": resolved["resultRef"]}
    return None
