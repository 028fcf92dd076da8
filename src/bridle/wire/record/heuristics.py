"""Heuristic doubts about a successful run: an unanswered question, or unfinished background work."""

from __future__ import annotations

import re

from bridle.wire.record.error_category import Category
from bridle.wire.record.record import Record

INTERACTIVE_PREFIX = "interactive-hang:"
BACKGROUND_PREFIX = "background-task:"
_WAITING = r"(?i)\b(waiting on|still waiting|continuing|in progress|in the background)\b"


def find_heuristic_warning(record: Record, *, background: bool) -> tuple[Category, str] | None:
    """Return the category and warning of a run's first doubt; a question comes before background work.

    `background` is False if the agent must not run anything in the background.
    """
    if not record.results:
        return None
    if ended_with_question(record):
        return (
            Category.INTERACTIVE,
            f"{INTERACTIVE_PREFIX} the only turn ended with a question that no user could answer",
        )
    if background and _has_unfinished_work(record):
        count, launches = len(record.background_open), record.background_launches
        warning = f"{BACKGROUND_PREFIX} {count} of {launches} background tasks did not report an end"
        return Category.BACKGROUND_TASK, warning
    return None


def ended_with_question(record: Record) -> bool:
    """Return whether the only turn of a run ended with a question to the user."""
    return record.num_turns == 1 and asks_at_end(record)


def asks_at_end(record: Record) -> bool:
    """Return whether the last message of a run asks the user, after any number of turns."""
    if "end_turn" not in (record.answer.stop_reason, record.result_stop_reason):
        return False
    return record.answer.asked_user or record.answer.text.rstrip().endswith("?")


def _has_unfinished_work(record: Record) -> bool:
    if not record.background_open:
        return False
    too_few = record.num_turns is not None and record.num_turns < record.background_launches + 2
    return too_few or re.search(_WAITING, record.output) is not None
