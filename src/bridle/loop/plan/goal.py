"""A goal in a person's own words: a plan of one task. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bridle.loop.plan.markdown import refuse_controls
from bridle.loop.plan.model import GOAL, Plan, Task
from bridle.loop.plan.problems import Problems

# As long as a commit's first line may be and still be read in a list.
TITLE_CHARACTERS = 72


def parse_goal(text: str, *, guard: Sequence[str] = (), setup: Sequence[str] = ()) -> Plan:
    """The plan; PlanError where nothing is asked. Guard and setup are those of the settings."""
    problems = Problems("")
    refuse_controls(text, problems)
    title = _title(text)
    if not title:
        problems.add(0, "the goal is empty; say what is to be done, or name a plan")
    if not guard:
        problems.warn(0, "bridle.toml has no `checks`, and so the goal will be at best unverified")
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
    """The first sentence, shortened at a word's end."""
    first = next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")
    sentence = re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0].rstrip(".") or first
    if len(sentence) <= TITLE_CHARACTERS:
        return sentence
    cut = sentence[: TITLE_CHARACTERS - 1]
    return f"{cut.rsplit(' ', 1)[0] or cut}…"
