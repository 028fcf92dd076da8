"""What a person sees of a run while it is under way: lines in a pipe, a live view on a terminal. Always on stderr."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from bridle.cli.people.keyboard import keys
from bridle.errors import Error
from bridle.ground import clock
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import usage_limit_waits
from bridle.loop.control.current_state import current_receipt
from bridle.loop.plan.model import Plan
from bridle.loop.progress_events import AgentPrinted, Progress
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.views.terminal.run_lines import RunPrinter, format_wait
from bridle.views.terminal.run_screen import SPINS, RunScreen
from bridle.views.terminal.styled_lines import Line, wrap_line
from bridle.wire.mask import Mask, secret_values

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from bridle.wire.record.record import Record

SKIP_KEY = "s"
# A long journal takes a while to read: the view rests ten times as long, and leaves the machine to the work.
LOOK_SHARE = 10

# How often a run without a live view is looked at for a wait, of which the shortest takes some seconds.
WAITS_SECONDS = 1.0


class RunDisplay(Protocol):
    """Shows a run from the beginning to the end of an `async with` block."""

    def say(self, line: str) -> None:
        """Show a line."""
        ...

    def watch(self, progress: Progress) -> None:
        """Show what has happened."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def face_of(run: Path, environment: Mapping[str, str]) -> RunDisplay:
    """The face that fits where stderr goes to."""
    inputs = FileStore(run).inputs()
    plan = Plan.from_json(inputs["plan"]) if isinstance(inputs, dict) and "plan" in inputs else None
    titles = tuple(task.title for task in plan.tasks) if plan is not None else ()
    mask = Mask(secret_values(environment))
    is_live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return (LiveDisplay if is_live else LineDisplay)(run, _folders(run, inputs), titles, mask)


def _folders(run: Path, inputs: object) -> tuple[Path, ...]:
    """Where the run works: in the repository, or in its worktrees; the last are one for each worker."""
    if not isinstance(inputs, dict) or "repository" not in inputs:
        return (run,)
    return (Path(str(inputs["repository"])), *(Path(str(one)) for one in inputs.get("worktrees") or ()))


def _is_side_by_side(folders: tuple[Path, ...]) -> bool:
    """Whether several work at once: besides the repository and the run's own worktree there are theirs."""
    return len(folders) > 2


class LineDisplay:
    """A line for each thing, one after the other."""

    def __init__(self, run: Path, folders: tuple[Path, ...], titles: tuple[str, ...], mask: Mask) -> None:
        self._printer = RunPrinter(
            titles,
            *folders,
            mask=mask,
            write=lambda one: _write(one.plain),
            is_parallel=_is_side_by_side(folders),
        )
        self._store = FileStore(run)
        self._ticking: asyncio.Task[None] | None = None

    def say(self, line: str) -> None:
        """Show a line."""
        _write(f"bridle: {escape_unprintable(line)}")

    def watch(self, progress: Progress) -> None:
        """Show what has happened."""
        self._printer.print(progress)

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._tell_waits())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait({self._ticking})

    async def _tell_waits(self) -> None:
        """A line for each wait: nothing else would be seen of a run that sleeps for hours."""
        told = ""
        while True:
            try:
                nap = usage_limit_waits.current(self._store)
            except Error:
                return  # whoever drives the run meets the same error and says it
            if nap is not None and nap.effect_id != told:
                told = nap.effect_id
                self.say(format_wait(nap))
            await asyncio.sleep(WAITS_SECONDS)


class LiveDisplay:
    """The tasks and what is done now at the bottom of the terminal, and what is over above it."""

    def __init__(self, run: Path, folders: tuple[Path, ...], titles: tuple[str, ...], mask: Mask) -> None:
        self._store = FileStore(run)
        self._screen = RunScreen(*folders, mask=mask, began_seconds=clock.now().timestamp(), price=_price)
        self._printer = RunPrinter(
            titles,
            *folders,
            mask=mask,
            write=self._above,
            shows_tools=False,
            is_parallel=_is_side_by_side(folders),
        )
        self._seen = -1
        self._look_again = 0.0
        self._console: Console | None = None
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._stack = ExitStack()

    def say(self, line: str) -> None:
        """Show a line above the view."""
        self._above(Line((("bridle: ", "dim"), (escape_unprintable(line), ""))))

    def watch(self, progress: Progress) -> None:
        """Show what has happened."""
        self._screen.add_progress(progress, now=clock.now().timestamp())
        if not isinstance(progress, AgentPrinted):
            self._printer.print(progress)

    async def __aenter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._live = self._stack.enter_context(Live(console=self._console, auto_refresh=False, transient=True))
        if self._stack.enter_context(keys(self._press)):
            self._screen.key = f"press {SKIP_KEY} to try now"
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait({self._ticking})
        self._live = None
        self._stack.close()

    async def _tick(self) -> None:
        """Draw again and again until the run is over; the journal is read when it has grown."""
        while True:
            await self._look()
            self._draw()
            await asyncio.sleep(1 / SPINS)

    async def _look(self) -> None:
        began = clock.monotonic()
        try:
            seq = self._store.standing().seq
            if seq != self._seen and began >= self._look_again:
                document, _ = await current_receipt(self._store)
                if self._seen < 0:
                    before = float(document.get("seconds") or 0.0)
                    self._screen.set_elapsed(before, now=clock.now().timestamp())
                self._screen.set_receipt(document, usage_limit_waits.current(self._store))
                self._seen = seq
                self._look_again = clock.monotonic() + LOOK_SHARE * (clock.monotonic() - began)
        except Error:
            return  # whoever drives the run meets the same error and says it; the picture stays as it is

    def _draw(self) -> None:
        from bridle.views.terminal.rich_text import to_rich_text

        if self._live is None or self._console is None:
            return
        width, height = self._console.size
        lines = self._screen.lines(now=clock.now().timestamp(), width=width - 1, height=height - 2)
        self._live.update(to_rich_text(lines), refresh=True)

    def _press(self, key: str) -> None:
        if key.lower() != SKIP_KEY:
            return
        has_ended = False
        while (nap := usage_limit_waits.current(self._store)) is not None and usage_limit_waits.end(
            FileStore(self._store.run), nap
        ):
            has_ended = True  # several workers may wait for the same
        if has_ended:
            self.say("the wait is over: it is tried again now")

    def _above(self, line: Line) -> None:
        from bridle.views.terminal.rich_text import to_rich_text

        if self._console is None:
            _write(line.plain)
        else:
            text = to_rich_text(wrap_line(line, self._console.width))
            self._console.print(text)


def _price(record: Record, agent: str) -> float | None:
    from bridle.run.budget import cost_of

    return cost_of(record, agent).usd


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
