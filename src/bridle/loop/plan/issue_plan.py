"""A plan from the issues of a tracker. Pure.

The text of an issue is a stranger's: it is written as a quotation, in which the plan's parser reads neither headings
nor checks, and no command of it is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from bridle.loop.plan.markdown import CONTROL
from bridle.loop.plan.model import Task
from bridle.loop.plan.render_plan import render
from bridle.loop.plan.titles import cut_title

# An issue with more is a discussion; the agent reads the beginning.
BODY_LIMIT_CHARACTERS = 20_000
# Letters that change how a text is displayed.
_BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_NEEDS = re.compile(r"\b(?:depends on|blocked by|needs)\s+#(\d{1,9})\b", re.IGNORECASE)


class Issue(Struct, frozen=True):
    """One issue, as its tracker gave it."""

    number: int
    title: str = ""
    body: str = ""
    url: str = ""

    @property
    def task_title(self) -> str:
        """The title of its task: the number first, so that no title can look like a ticked box."""
        return cut_title(self.whole_title)

    @property
    def whole_title(self) -> str:
        return f"#{self.number} {' '.join(_plain(self.title).split())}".strip().rstrip("# ")


def plan_of_issues(title: str, issues: Sequence[Issue], *, guard: Sequence[str], setup: Sequence[str] = ()) -> str:
    """Return the text of a plan with one task for each issue, in their order."""
    known = {issue.number: issue.task_title for issue in issues}
    return render(_plain(title), [_task(issue, known) for issue in issues], guard=guard, setup=setup)


def _task(issue: Issue, known: dict[int, str]) -> Task:
    numbers = [int(number) for number in _NEEDS.findall(issue.body)]
    needs = [known[number] for number in dict.fromkeys(numbers) if number in known and number != issue.number]
    source = f"Issue {_plain(issue.url)}" if issue.url else ""
    quoted = "\n".join(f"> {_plain(line)}".rstrip() for line in _text(issue).splitlines())
    body = "\n\n".join(part for part in (source, quoted) if part)
    return Task(title=issue.task_title, body=body, needs=tuple(needs))


def _text(issue: Issue) -> str:
    """Return what the agent reads of an issue: its whole title, if the task's is the beginning, and its body."""
    body = issue.body.replace("\r\n", "\n").replace("\r", "\n").strip()
    cut = "\n[…]" if len(body) > BODY_LIMIT_CHARACTERS else ""
    title = issue.whole_title if issue.task_title != issue.whole_title else ""
    return "\n\n".join(part for part in (title, body[:BODY_LIMIT_CHARACTERS] + cut) if part)


def _plain(text: str) -> str:
    return _BIDIRECTIONAL.sub("", CONTROL.sub(" ", text))
