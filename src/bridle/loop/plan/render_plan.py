"""Plans as Markdown that parses back to the same plan. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bridle.loop.plan.model import Item, Task


def render(title: str, tasks: Iterable[Task], *, guard: Sequence[str] = (), setup: Sequence[str] = ()) -> str:
    """Render the whole file."""
    head = [f"# {title}", ""]
    head += [f"Setup: {code_span(command)}" for command in setup]
    head += [f"Checks: {code_span(command)}" for command in guard]
    parts = ["\n".join(head).rstrip(), *("\n".join(_section(task)) for task in tasks)]
    return "\n\n".join(parts) + "\n"


def code_span(command: str) -> str:
    """Return a command between as many backticks as it needs."""
    longest = max((len(run) for run in re.findall(r"`+", command)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if command.startswith("`") or command.endswith("`") else ""
    return f"{ticks}{pad}{command}{pad}{ticks}"


def _section(task: Task) -> Iterator[str]:
    yield f"## {task.title}"
    if task.body:
        yield task.body
    if task.checklist:
        yield ""
        for item in task.checklist:
            yield from _item(item)
    if task.checks or task.needs or task.may_edit:
        yield ""
    yield from (f"Needs: {title}" for title in task.needs)
    yield from (f"Check: {code_span(command)}" for command in task.checks)
    yield from (f"May edit: {pattern}" for pattern in task.may_edit)


def _item(item: Item) -> Iterator[str]:
    first, *more = item.text.split("\n")
    yield f"- [{'x' if item.is_ticked else ' '}] {first}"
    # Deep enough to be read as text of the item above.
    yield from (f"      {line}" for line in more)
