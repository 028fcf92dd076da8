"""Doubts about a run that ended well: it asked a question nobody heard, or left work in the background."""

from __future__ import annotations

import re

from bridle.wire.record.error_category import Category
from bridle.wire.record.record import Record

INTERACTIVE_PREFIX = "interactive-hang:"
BACKGROUND_PREFIX = "background-task:"
_WAITING = re.compile(r"\b(waiting on|still waiting|continuing|in progress|in the background)\b", re.IGNORECASE)


def find_doubt(record: Record, *, background: bool) -> tuple[Category, str] | None:
    """The doubt that a run with a result leaves, and the warning that says so. A question comes first.

    `background` is False where the agent was told to run nothing in the background.
    """
    if not record.results:
        return None
    if _asked_and_stopped(record):
        words = "the only turn ended by asking the user, and nobody was there to answer"
        return Category.INTERACTIVE, f"{INTERACTIVE_PREFIX} {words}"
    if background and _left_work_behind(record):
        count, launches = len(record.background_open), record.background_launches
        words = f"{count} of {launches} background tasks were not seen to end"
        return Category.BACKGROUND_TASK, f"{BACKGROUND_PREFIX} {words}"
    return None


def _asked_and_stopped(record: Record) -> bool:
    if record.num_turns != 1 or "end_turn" not in (record.answer.stop_reason, record.result_stop_reason):
        return False
    return record.answer.asked_user or record.answer.text.rstrip().endswith("?")


def _left_work_behind(record: Record) -> bool:
    if not record.background_open:
        return False
    too_few = record.num_turns is not None and record.num_turns < record.background_launches + 2
    return too_few or _WAITING.search(record.output) is not None
