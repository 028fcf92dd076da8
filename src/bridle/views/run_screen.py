"""A run of the loop on a terminal while it is under way: the tasks, what is being done now, and what it has used.

A picture of values: the receipt as it stands, and what was told since. Nothing here prints, and the clock is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bridle.loop import kinds
from bridle.loop.naps import Nap
from bridle.loop.watching import Began, Ended, Progress, Saw
from bridle.views.lines import BLANK, Line, cells, fitted, line
from bridle.views.receipt import FAILED_MARK, MARKS
from bridle.views.run_lines import STRUCTURED_OUTPUT, AgentWords
from bridle.views.spans import clock, money
from bridle.views.summary import harmless
from bridle.wire.blocks import Text, ToolResult, ToolUse
from bridle.wire.events import Assistant, Event, User
from bridle.wire.mask import Mask
from bridle.wire.record import MAIN, Record
from bridle.wire.recorder import Recorder

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Turns of it in a second; the screen is drawn about as often.
SPINS = 8
# What the screen needs besides the tasks: its head, two lines of what is done now, and the figures below.
_OTHER_LINES = 8
_WORDS = {
    kinds.PREPARE: "making the branch",
    kinds.CHECK: "running the checks",
    kinds.PROTECT: "looking at what was changed",
    kinds.COMMIT: "committing",
    kinds.ROLLBACK: "taking its work back",
    kinds.SUMMARIZE: "folding the progress into a summary",
}

Price = Callable[[Record], float | None]


class Screen:
    """What is known of the run; `lines` draws it."""

    def __init__(self, folder: Path, *, mask: Mask, began_seconds: float, price: Price = lambda _record: None) -> None:
        self._words = AgentWords(folder, mask)
        self._mask = mask
        self._began = began_seconds
        self._price = price
        self.key = ""
        """What a person can press to end a wait, in words; empty where nobody can."""
        self._receipt: Mapping[str, Any] = {}
        self._nap: Nap | None = None
        self._doing: Began | None = None
        self._doing_since = began_seconds
        self._last_task: str | None = None
        self._facts = Recorder()
        self._usd: float | None = None
        """What the agent at work has cost so far, about."""
        self._said = ""
        self._tools: dict[str, str] = {}

    def go_on(self, *, after_seconds: float, now: float) -> None:
        """The run was driven so long before: only that counts, not the time in which nobody was at work on it."""
        self._began = now - after_seconds

    def stand(self, receipt: Mapping[str, Any], nap: Nap | None) -> None:
        """Take in where the run stands."""
        self._receipt, self._nap = receipt, nap

    def take(self, progress: Progress, *, now: float) -> None:
        """Take in what has happened."""
        match progress:
            case Began():
                self._doing, self._doing_since = progress, now
                self._said, self._tools, self._usd = "", {}, None
                self._facts = Recorder()
            case Ended():
                self._doing, self._last_task = None, progress.args.get("task")
            case Saw(_, event):
                self._facts.add(event)
                self._see(event)
                if isinstance(event, Assistant):
                    self._usd = self._price(self._facts.record)

    def lines(self, *, now: float, width: int, height: int) -> list[Line]:
        """The picture, in at most so many lines of so many cells."""
        tasks = list(self._receipt.get("tasks") or ())
        shown = [BLANK, self._head(tasks, now), *self._tasks(tasks, now, width, max(3, height - _OTHER_LINES))]
        shown += [BLANK, self._figures(now)]
        if self._nap is not None:
            shown.append(self._waits(self._nap, now))
        return [_within(one, width, self._mask) for one in shown[:height]]

    def _head(self, tasks: list[Mapping[str, Any]], now: float) -> Line:
        over = sum(task["verdict"] not in ("pending", "needs you") for task in tasks)
        return Line(
            (
                (f"{self._receipt.get('plan') or 'preparing'}", "summary"),
                (f"  {over} of {len(tasks)} tasks, {clock(now - self._began)}", "dim"),
            )
        )

    def _tasks(self, tasks: list[Mapping[str, Any]], now: float, width: int, room: int) -> Iterator[Line]:
        """The tasks around the one that is worked on; what is above and below is counted."""
        current = next((place for place, task in enumerate(tasks) if self._is_current(task)), None)
        first, last = _window(len(tasks), len(tasks) if current is None else current, room)
        if first:
            yield line(f"  … {first} above", "dim")
        for place in range(first, last):
            yield from self._task(tasks[place], now, width, is_current=place == current)
        if last < len(tasks):
            yield line(f"  … {len(tasks) - last} below", "dim")
        if current is None and self._doing is not None:
            yield line(f"  {_spin(now)} {_WORDS.get(self._doing.kind, self._doing.kind)}", "state.running")

    @property
    def _current(self) -> str | None:
        """The task that something is done for; between two steps it is still the last one."""
        return self._last_task if self._doing is None else self._doing.args.get("task")

    def _is_current(self, task: Mapping[str, Any]) -> bool:
        is_open = self._doing is not None or (task["verdict"] == "pending" and self._nap is None)
        return is_open and task["title"] == self._current

    def _task(self, task: Mapping[str, Any], now: float, width: int, *, is_current: bool) -> Iterator[Line]:
        mark, style = MARKS.get(task["verdict"], FAILED_MARK)
        if is_current:
            mark, style = _spin(now), "state.running"
        title = _clean(" ".join(str(task["title"]).split()), self._mask)
        facts = _facts_of(task, is_current=is_current)
        title = fitted(title, max(12, width - 6 - cells(facts)))
        yield Line(((f"  {mark} ", style), (title, "summary" if is_current else ""), (f"  {facts}", "dim")))
        if is_current:
            yield from (line(f"      {words}", style) for words, style in self._now(now))

    def _now(self, now: float) -> Iterator[tuple[str, str]]:
        """What is being done for the task at this moment."""
        doing = self._doing
        if doing is None:
            return
        took = clock(now - self._doing_since)
        if doing.kind == kinds.WORK:
            agent = f"{doing.args.get('agent')}, iteration {doing.args.get('iteration')}, {took}"
            yield (f"{agent}, about {money(self._usd)}" if self._usd else agent), "dim"
            tool = next(reversed(self._tools.values()), None)
            yield (f"> {tool}" if tool else self._said or "thinking"), "code" if tool else ""
        else:
            yield f"{_WORDS.get(doing.kind, doing.kind)}, {took}", ""

    def _figures(self, now: float) -> Line:
        receipt = self._receipt
        if not receipt:
            return line("")
        limits = receipt["limits"]
        parts = [
            f"iteration {receipt['iterations']} of {limits['max_iterations']}",
            f"{money(receipt['cost_usd'])} of {limits['max_cost_usd']:g}",
            f"{clock(now - self._began)} of {clock(limits['max_seconds'])}",
        ]
        record = self._facts.record
        if record.resets_at is not None:
            parts.append(f"limit resets {_moment(record.resets_at)}")
        return line("  " + " · ".join(parts), "dim")

    def _waits(self, nap: Nap, now: float) -> Line:
        left = clock(nap.until_seconds - now)
        key = f"; {self.key}" if self.key else ""
        return line(f"  waiting for {nap.why}: {left} left, until {_moment(nap.until_seconds)}{key}", "question")

    def _see(self, event: Event) -> None:
        """Remember the last words and the tools at work."""
        match event:
            case Assistant() if event.parent_tool_use_id is MAIN:
                for block in event.message.blocks:
                    if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                        self._tools[block.id] = self._words.call(block)
                    elif isinstance(block, Text) and block.text.strip():
                        self._said = next(self._words.of(event), "")
            case User():
                for result in event.message.blocks:
                    if isinstance(result, ToolResult):
                        self._tools.pop(result.tool_use_id, None)
            case _:
                return


def _facts_of(task: Mapping[str, Any], *, is_current: bool) -> str:
    if is_current:
        tries = task["tries"]
        return f"{tries} {'try' if tries == 1 else 'tries'} failed" if tries else ""
    if task["verdict"] == "pending" and not task["iterations"]:
        return ""
    cost = f", {money(task['cost_usd'])}" if task["cost_usd"] else ""
    return f"{task['verdict']}{cost}"


def _window(count: int, current: int, room: int) -> tuple[int, int]:
    """The places to show: all where there is room, else those around the current one."""
    if count <= room:
        return 0, count
    first = min(max(0, current - room // 3), count - room)
    return first, first + room


def _spin(now: float) -> str:
    return SPINNER[int(now * SPINS) % len(SPINNER)]


def _moment(seconds: float) -> str:
    """A moment in the time of the person's own clock."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%H:%M}"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _within(one: Line, width: int, mask: Mask) -> Line:
    """The line without secrets and control characters, cut at the edge."""
    pieces: list[tuple[str, str]] = []
    room = width
    for text, style in one.segments:
        # Two cells are the least that a cut text takes.
        kept = fitted(_clean(text, mask), room) if room > 1 else ""
        pieces.append((kept, style))
        room -= cells(kept)
    return Line(tuple(pieces))


def _clean(text: str, mask: Mask) -> str:
    """Before any cut: half a secret is not known as one."""
    return harmless(mask.apply(text)).replace("\n", " ").replace("\t", " ")
