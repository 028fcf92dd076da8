"""A running loop on a terminal: the tasks, what is running now, and what the run has used.

A pure function of the current receipt and the progress since. Nothing here prints or reads the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bridle.loop.effects import LandArgs, title_of
from bridle.loop.process.receipt import Receipt, TaskReceipt, Wait
from bridle.loop.process.task_state import Verdict
from bridle.loop.progress_events import AgentPrinted, EffectFinished, EffectStarted, Progress
from bridle.views.format_amounts import format_clock, format_usd
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.views.terminal.receipt import FAILED_MARK, MARKS
from bridle.views.terminal.run_lines import AgentLines
from bridle.views.terminal.styled_lines import BLANK, Line, cell_width, styled_line, truncate
from bridle.views.terminal.task_activity import Price, TaskActivity
from bridle.wire.mask import Mask

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Frames of the spinner in a second; the screen is drawn about as often.
SPINS = 8
# Lines besides the tasks: the head, two lines of a running effect, and the figures below.
_OTHER_LINES = 8
# For each further task that is running.
_ACTIVITY_LINES = 2


class RunScreen:
    """The state of a run as a display knows it; `lines` draws it."""

    def __init__(
        self, *folders: Path, mask: Mask, began_seconds: float, price: Price = lambda _record, _agent: None
    ) -> None:
        self._agent_lines = AgentLines(*folders, mask=mask)
        self._mask = mask
        self._began = began_seconds
        self._price = price
        self.key = ""
        """The hint that names the key which ends a wait; empty where there is no keyboard."""
        self.keys_hint = ""
        """The hint that names the key which lists all keys; empty where there is no keyboard."""
        self._receipt: Receipt | None = None
        self._wait: Wait | None = None
        self._activities: dict[str | None, TaskActivity] = {}
        """The running effect of each task; under None one that is for no task."""
        self._last_task: dict[int | None, str] = {}
        """For each worker with no running effect, the task of its last one."""
        self._resets_at: float | None = None

    def set_elapsed(self, elapsed_seconds: float, *, now: float) -> None:
        """Set the time for which the run was driven before; pauses do not count."""
        self._began = now - elapsed_seconds

    def set_receipt(self, receipt: Receipt, wait: Wait | None) -> None:
        """Set the current receipt, and the wait that the run is in."""
        self._receipt, self._wait = receipt, wait

    def add_progress(self, progress: Progress, *, now: float) -> None:
        """Apply a progress event."""
        match progress:
            case EffectStarted(args):
                self._activities[title_of(args)] = TaskActivity(progress, now, self._agent_lines, self._price)
                self._last_task.pop(args.worker, None)
            case EffectFinished(args):
                title = title_of(args)
                self._activities.pop(title, None)
                if title is not None and not isinstance(args, LandArgs):  # landing belongs to no worker
                    self._last_task[args.worker] = title
            case AgentPrinted(task, event) if task in self._activities:
                self._activities[task].add_event(event)
                self._resets_at = self._activities[task].resets_at or self._resets_at

    def lines(self, *, now: float, width: int, height: int) -> list[Line]:
        """Return the screen, at most `height` lines of `width` cells."""
        tasks = self._receipt.tasks if self._receipt is not None else ()
        room = height - _OTHER_LINES - _ACTIVITY_LINES * max(0, len(self._activities) - 1)
        lines = [BLANK, self._head(tasks, now), *self._tasks(tasks, now, width, max(3, room))]
        lines += [BLANK, self._figures(now)]
        if self._wait is not None:
            lines.append(self._wait_line(self._wait, now))
        return [_within(line, width, self._mask) for line in lines[:height]]

    def _head(self, tasks: Sequence[TaskReceipt], now: float) -> Line:
        finished = sum(task.verdict not in (Verdict.PENDING, Verdict.NEEDS_YOU) for task in tasks)
        return Line(
            (
                ("preparing" if self._receipt is None else self._receipt.plan, "summary"),
                (f"  {finished} of {len(tasks)} tasks, {format_clock(now - self._began)}", "dim"),
            )
        )

    def _tasks(self, tasks: Sequence[TaskReceipt], now: float, width: int, room: int) -> Iterator[Line]:
        """Yield the tasks around the running ones, and the number of those above and below."""
        current = [index for index, task in enumerate(tasks) if self._is_current(task)]
        first, last = _window(len(tasks), current or [len(tasks)], room)
        if first:
            yield styled_line(f"  … {first} above", "dim")
        for index in range(first, last):
            yield from self._task(tasks[index], now, width, is_current=index in current)
        if last < len(tasks):
            yield styled_line(f"  … {len(tasks) - last} below", "dim")
        titles = {task.title for task in tasks}
        for title, activity in self._activities.items():
            if title not in titles:
                yield styled_line(f"  {_spinner(now)} {activity.name}", "state.running")

    def _is_current(self, task: TaskReceipt) -> bool:
        """Return whether the task is running; between two effects the last task still is."""
        if task.title in self._activities:
            return True
        is_between = self._wait is None and (None not in self._last_task or not self._activities)
        return is_between and task.verdict == Verdict.PENDING and task.title in self._last_task.values()

    def _task(self, task: TaskReceipt, now: float, width: int, *, is_current: bool) -> Iterator[Line]:
        mark, style = MARKS.get(task.verdict, FAILED_MARK)
        if is_current:
            mark, style = _spinner(now), "state.running"
        title = _clean(" ".join(task.title.split()), self._mask)
        facts = _task_facts(task, is_current=is_current)
        title = truncate(title, max(12, width - 6 - cell_width(facts)))
        yield Line(((f"  {mark} ", style), (title, "summary" if is_current else ""), (f"  {facts}", "dim")))
        if is_current:
            activity = self._activities.get(task.title)
            yield from (
                styled_line(f"      {text}", style) for text, style in (activity.lines(now) if activity else ())
            )

    def _figures(self, now: float) -> Line:
        receipt = self._receipt
        if receipt is None:
            return styled_line("")
        limits = receipt.limits
        parts = [
            f"iteration {receipt.iterations} of {limits.max_iterations}",
            f"{format_usd(receipt.cost_usd, known=receipt.known_cost_usd)} of {limits.max_cost_usd:g}",
            f"{format_clock(now - self._began)} of {format_clock(limits.max_seconds)}",
        ]
        if self._resets_at is not None and self._resets_at > now:
            parts.append(f"limit resets {_local_time(self._resets_at)}")
        if self.keys_hint:
            parts.append(self.keys_hint)
        return styled_line("  " + " · ".join(parts), "dim")

    def _wait_line(self, wait: Wait, now: float) -> Line:
        left = format_clock(wait.until_seconds - now)
        key = f"; {self.key}" if self.key else ""
        return styled_line(
            f"  waiting for {wait.reason}: {left} left, until {_local_time(wait.until_seconds)}{key}", "question"
        )


def _task_facts(task: TaskReceipt, *, is_current: bool) -> str:
    if is_current:
        tries = task.tries
        return f"{tries} {'try' if tries == 1 else 'tries'} failed" if tries else ""
    if task.verdict == Verdict.PENDING and not task.iterations:
        return ""
    cost = "" if task.cost_usd == 0 else f", {format_usd(task.cost_usd, known=task.known_cost_usd)}"
    return f"{task.verdict}{cost}"


def _window(count: int, current: Sequence[int], room: int) -> tuple[int, int]:
    """Return the range of tasks to show: all if they fit, else around the current, always with the first of them."""
    if count <= room:
        return 0, count
    first = max(0, current[0] - room // 3)
    first = min(max(first, current[-1] - room + 1), current[0])
    first = min(first, count - room)
    return first, first + room


def _spinner(now: float) -> str:
    return SPINNER[int(now * SPINS) % len(SPINNER)]


def _local_time(seconds: float) -> str:
    """Format a Unix time in the local zone: `14:05`."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%H:%M}"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _within(line: Line, width: int, mask: Mask) -> Line:
    """Mask secrets and escape control characters, then cut the line at the edge."""
    pieces: list[tuple[str, str]] = []
    room = width
    for text, style in line.segments:
        # A truncated text takes at least two cells.
        piece = truncate(_clean(text, mask), room) if room > 1 else ""
        pieces.append((piece, style))
        room -= cell_width(piece)
    return Line(tuple(pieces))


def _clean(text: str, mask: Mask) -> str:
    """Mask secrets, before any cut: half a secret is not recognised."""
    return escape_unprintable(mask.apply(text)).replace("\n", " ").replace("\t", " ")
