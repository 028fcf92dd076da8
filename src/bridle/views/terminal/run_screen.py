"""A run of the loop on a terminal while it is under way: the tasks, what is being done now, and what it has used.

A picture of values: the receipt as it stands, and what was told since. Nothing here prints, and the clock is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bridle.loop import effects
from bridle.loop.control.usage_limit_waits import Wait
from bridle.loop.progress_events import AgentPrinted, EffectFinished, EffectStarted, Progress
from bridle.views.format_amounts import clock, money
from bridle.views.terminal.outcome_summary import harmless
from bridle.views.terminal.receipt import FAILED_MARK, MARKS
from bridle.views.terminal.run_lane import Lane, Price
from bridle.views.terminal.run_lines import AgentWords
from bridle.views.terminal.styled_lines import BLANK, Line, cells, fitted, line
from bridle.wire.mask import Mask

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Turns of it in a second; the screen is drawn about as often.
SPINS = 8
# What the screen needs besides the tasks: its head, two lines of what is done now, and the figures below.
_OTHER_LINES = 8
# For each more that is worked on at the same time.
_LANE_LINES = 2


class Screen:
    """What is known of the run; `lines` draws it."""

    def __init__(
        self, *folders: Path, mask: Mask, began_seconds: float, price: Price = lambda _record, _agent: None
    ) -> None:
        self._words = AgentWords(*folders, mask=mask)
        self._mask = mask
        self._began = began_seconds
        self._price = price
        self.key = ""
        """What a person can press to end a wait, in words; empty where nobody can."""
        self._receipt: Mapping[str, Any] = {}
        self._nap: Wait | None = None
        self._lanes: dict[str | None, Lane] = {}
        """What is under way for each task; under None what is for none."""
        self._last: dict[int | None, str] = {}
        """For each worker the task that its last step was for, while nothing is under way there."""
        self._resets_at: float | None = None

    def go_on(self, *, after_seconds: float, now: float) -> None:
        """The run was driven so long before: only that counts, not the time in which nobody was at work on it."""
        self._began = now - after_seconds

    def stand(self, receipt: Mapping[str, Any], nap: Wait | None) -> None:
        """Take in where the run stands."""
        self._receipt, self._nap = receipt, nap

    def take(self, progress: Progress, *, now: float) -> None:
        """Take in what has happened."""
        match progress:
            case EffectStarted(_, args):
                self._lanes[args.get("task")] = Lane(progress, now, self._words, self._price)
                self._last.pop(args.get("worker"), None)
            case EffectFinished(kind, args):
                self._lanes.pop(args.get("task"), None)
                if "task" in args and kind != effects.LAND:  # that is done in no worker's place
                    self._last[args.get("worker")] = args["task"]
            case AgentPrinted(task, event) if task in self._lanes:
                self._lanes[task].see(event)
                self._resets_at = self._lanes[task].resets_at or self._resets_at

    def lines(self, *, now: float, width: int, height: int) -> list[Line]:
        """The picture, in at most so many lines of so many cells."""
        tasks = list(self._receipt.get("tasks") or ())
        room = height - _OTHER_LINES - _LANE_LINES * max(0, len(self._lanes) - 1)
        shown = [BLANK, self._head(tasks, now), *self._tasks(tasks, now, width, max(3, room))]
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
        """The tasks around those that are worked on; what is above and below is counted."""
        current = [place for place, task in enumerate(tasks) if self._is_current(task)]
        first, last = _window(len(tasks), current or [len(tasks)], room)
        if first:
            yield line(f"  … {first} above", "dim")
        for place in range(first, last):
            yield from self._task(tasks[place], now, width, is_current=place in current)
        if last < len(tasks):
            yield line(f"  … {len(tasks) - last} below", "dim")
        known = {task["title"] for task in tasks}
        for title, lane in self._lanes.items():
            if title not in known:
                yield line(f"  {_spin(now)} {lane.name}", "state.running")

    def _is_current(self, task: Mapping[str, Any]) -> bool:
        """Whether something is done for it; between two steps it is still the last one."""
        if task["title"] in self._lanes:
            return True
        rests = self._nap is None and (None not in self._last or not self._lanes)
        return rests and task["verdict"] == "pending" and task["title"] in self._last.values()

    def _task(self, task: Mapping[str, Any], now: float, width: int, *, is_current: bool) -> Iterator[Line]:
        mark, style = MARKS.get(task["verdict"], FAILED_MARK)
        if is_current:
            mark, style = _spin(now), "state.running"
        title = _clean(" ".join(str(task["title"]).split()), self._mask)
        facts = _facts_of(task, is_current=is_current)
        title = fitted(title, max(12, width - 6 - cells(facts)))
        yield Line(((f"  {mark} ", style), (title, "summary" if is_current else ""), (f"  {facts}", "dim")))
        if is_current:
            lane = self._lanes.get(task["title"])
            yield from (line(f"      {words}", style) for words, style in (lane.lines(now) if lane else ()))

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
        if self._resets_at is not None and self._resets_at > now:
            parts.append(f"limit resets {_moment(self._resets_at)}")
        return line("  " + " · ".join(parts), "dim")

    def _waits(self, nap: Wait, now: float) -> Line:
        left = clock(nap.until_seconds - now)
        key = f"; {self.key}" if self.key else ""
        return line(f"  waiting for {nap.why}: {left} left, until {_moment(nap.until_seconds)}{key}", "question")


def _facts_of(task: Mapping[str, Any], *, is_current: bool) -> str:
    if is_current:
        tries = task["tries"]
        return f"{tries} {'try' if tries == 1 else 'tries'} failed" if tries else ""
    if task["verdict"] == "pending" and not task["iterations"]:
        return ""
    cost = f", {money(task['cost_usd'])}" if task["cost_usd"] else ""
    return f"{task['verdict']}{cost}"


def _window(count: int, current: Sequence[int], room: int) -> tuple[int, int]:
    """The places to show: all where there is room, else those around the current ones, the first of them for sure."""
    if count <= room:
        return 0, count
    first = max(0, current[0] - room // 3)
    first = min(max(first, current[-1] - room + 1), current[0])
    first = min(first, count - room)
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
