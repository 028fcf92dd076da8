"""The display of a running run on stderr: lines in a pipe, a live view on a terminal."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from bridle.cli.user_interface.input_line import InputLine
from bridle.cli.user_interface.keyboard import keys
from bridle.cli.user_interface.run_keys import RunKeys
from bridle.cli.user_interface.terminal import is_terminal
from bridle.errors import Error
from bridle.ground.clock import SteadyClock
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pending_waits
from bridle.loop.process.receipt import Receipt
from bridle.loop.progress_events import Progress
from bridle.loop.run_inputs import RunInputs
from bridle.views.terminal.escape_controls import escape_line
from bridle.views.terminal.run_lines import RunPrinter, format_wait
from bridle.views.terminal.run_screen import SPINS, RunScreen
from bridle.views.terminal.styled_lines import Line, wrap_line
from bridle.wire.mask import Mask, secret_values

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from bridle.wire.record.record import Record

SKIP_KEY = "s"
# Of a line that the user types: its end.
TYPED_LINES = 3
# How often a run without a live view is checked for a wait, the shortest of which takes seconds.
WAIT_POLL_SECONDS = 1.0


class RunDisplay(Protocol):
    """Shows a run while an `async with` block lasts."""

    def say(self, line: str) -> None:
        """Show a message."""
        ...

    def watch(self, progress: Progress) -> None:
        """Show a progress event."""
        ...

    @property
    def on_receipt(self) -> Callable[[Receipt], None] | None:
        """Return the function that shows the present state of the run; None where it is not shown, nor built."""
        ...

    def may_iterate(self) -> bool:
        """Return whether another iteration may start."""
        ...

    async def wait_for_answer(self) -> bool:
        """Wait until an open question is answered; False where the user cannot be asked here, or does not answer."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def display_for(run: Path, inputs: RunInputs, environment: Mapping[str, str]) -> RunDisplay:
    """Return a live display if stderr is a terminal, else one that prints lines."""
    folders = (Path(inputs.repository), *(Path(folder) for folder in inputs.worktrees))
    is_live = is_terminal(sys.stderr)
    return (LiveDisplay if is_live else LineDisplay)(run, folders, inputs, Mask(secret_values(environment)))


def _is_parallel(folders: tuple[Path, ...]) -> bool:
    """Return whether several tasks run at once: then each worker has a worktree too."""
    return len(folders) > 2


class LineDisplay:
    """Prints a line for each event."""

    on_receipt: Callable[[Receipt], None] | None = None

    def __init__(self, run: Path, folders: tuple[Path, ...], inputs: RunInputs, mask: Mask) -> None:
        self._printer = RunPrinter(
            tuple(task.title for task in inputs.plan.tasks),
            *folders,
            agents=inputs.settings.agents,
            mask=mask,
            write=lambda line: _write(line.plain),
            is_parallel=_is_parallel(folders),
        )
        self._store = FileStore(run, reuses_view=True)
        self._ticking: asyncio.Task[None] | None = None

    def say(self, line: str) -> None:
        """Show a message."""
        _write(f"bridle: {escape_line(line)}")

    def watch(self, progress: Progress) -> None:
        """Show a progress event."""
        self._printer.print(progress)

    def may_iterate(self) -> bool:
        """Return True: there is no keyboard."""
        return True

    async def wait_for_answer(self) -> bool:
        """Return False: there is no keyboard."""
        return False

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._print_waits())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait({self._ticking})

    async def _print_waits(self) -> None:
        """Print a line for each wait: a run that sleeps for hours shows nothing else."""
        printed = ""
        while True:
            try:
                wait = pending_waits.current(self._store)
            except Error:
                return  # the driver meets the same error and reports it
            if wait is not None and wait.effect_id != printed:
                printed = wait.effect_id
                self.say(format_wait(wait))
            await asyncio.sleep(WAIT_POLL_SECONDS)


class LiveDisplay:
    """Shows the tasks and the current step at the bottom of the terminal, finished steps above."""

    def __init__(self, run: Path, folders: tuple[Path, ...], inputs: RunInputs, mask: Mask) -> None:
        self._store = FileStore(run, reuses_view=True)
        self._clock = SteadyClock()
        self._screen = RunScreen(*folders, mask=mask, began_seconds=self._clock.now().timestamp(), price=_price)
        self._printer = RunPrinter(
            tuple(task.title for task in inputs.plan.tasks),
            *folders,
            agents=inputs.settings.agents,
            mask=mask,
            write=self._print_above,
            shows_tools=False,
            is_parallel=_is_parallel(folders),
        )
        self._keys = RunKeys(run, self.say, self._printer.show_tools)
        self._has_keys = False
        self._is_asked = False
        """Whether a question is open."""
        self._has_receipt = False
        self._console: Console | None = None
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._stack = ExitStack()

    def say(self, line: str) -> None:
        """Show a message above the view."""
        self._print_above(Line((("bridle: ", "dim"), (escape_line(line), ""))))

    def watch(self, progress: Progress) -> None:
        """Show a progress event."""
        self._screen.add_progress(progress, now=self._clock.now().timestamp())
        self._printer.print(progress)

    def may_iterate(self) -> bool:
        """Return False while the user wants a pause."""
        return not self._keys.pauses

    def on_receipt(self, receipt: Receipt) -> None:
        """Show the present state of the run."""
        if not self._has_receipt:
            self._screen.set_elapsed(receipt.seconds, now=self._clock.now().timestamp())
            self._has_receipt = True
        with suppress(Error):  # the driver meets the same error and reports it
            self._screen.set_receipt(receipt, pending_waits.current(self._store))
        self._is_asked = any(task.question for task in receipt.tasks)

    async def __aenter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._live = self._stack.enter_context(Live(console=self._console, auto_refresh=False, transient=True))
        self._has_keys = self._stack.enter_context(keys(self._keys.press))
        if self._has_keys:
            self._screen.key = f"press {SKIP_KEY} to try now"
            self._screen.keys_hint = "? lists the keys"
        self._ticking = asyncio.create_task(self._redraw())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait({self._ticking})
        self._live = None
        self._stack.close()

    async def wait_for_answer(self) -> bool:
        """Wait until the user answers here or by `bridle answer`; False if the line stays empty."""
        if not self._has_keys:
            return False
        return await self._keys.wait_for_answer(1 / SPINS)

    async def _redraw(self) -> None:
        for tick in itertools.count():
            if tick % SPINS == 0 and self._is_asked and self._has_keys:
                self._keys.ask_open_questions()
            self._draw()
            await asyncio.sleep(1 / SPINS)

    def _draw(self) -> None:
        from bridle.views.terminal.rich_text import to_rich_text

        if self._live is None or self._console is None:
            return
        width, height = self._console.size
        lines = self._screen.lines(now=self._clock.now().timestamp(), width=width - 1, height=height - 2)
        if self._keys.line is not None:
            lines += wrap_line(_typed(self._keys.line), width - 1)[-TYPED_LINES:]
        self._live.update(to_rich_text(lines), refresh=True)

    def _print_above(self, line: Line) -> None:
        from bridle.views.terminal.rich_text import to_rich_text

        if self._console is None:
            _write(line.plain)
        else:
            text = to_rich_text(wrap_line(line, self._console.width))
            self._console.print(text)


def _typed(line: InputLine) -> Line:
    return Line(((f"{line.label}: ", "question"), (f"{escape_line(line.text)}▏", "")))


def _price(record: Record, agent: str) -> float | None:
    from bridle.run.budget import cost_of

    return cost_of(record, agent).usd


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
