"""A goal as text: a plan of one task. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bridle.loop.plan.markdown import refuse_controls
from bridle.loop.plan.model import GOAL, Plan, Task
from bridle.loop.plan.problems import NO_CHECKS, NO_SETTINGS_FILE, Problems

# The usual limit for the first line of a commit message.
TITLE_CHARACTERS = 72


def parse_goal(
    text: str, *, guard: Sequence[str] = (), setup: Sequence[str] = (), has_settings_file: bool = True
) -> Plan:
    """Return a plan for the goal. Raises PlanError if it is empty. Guard and setup come from the settings."""
    problems = Problems("")
    refuse_controls(text, problems)
    title = _title(text)
    if not title:
        problems.add(0, "the goal is empty. Describe what to do, or name a plan.")
    if not guard:
        problems.warn(0, NO_CHECKS if has_settings_file else NO_SETTINGS_FILE)
    problems.refuse()
    return Plan(
        title=title,
        text=text,
        tasks=(Task(title=title, body=text.strip()),),
        guard=tuple(guard),
        setup=tuple(setup),
        kind=GOAL,
        warnings=problems.warnings(),
    )


def _title(text: str) -> str:
    """Return the first sentence, cut at the end of a word."""
    first = next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")
    sentence = re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0].rstrip(".") or first
    if len(sentence) <= TITLE_CHARACTERS:
        return sentence
    cut = sentence[: TITLE_CHARACTERS - 1]
    return f"{cut.rsplit(' ', 1)[0] or cut}…"
