"""The full-screen view: the list of runs, what the selected one needs, and the keys that act on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from bridle.errors import Error
from bridle.views.format_amounts import format_count
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.commands import Target, build_command
from bridle.views.run_data.run_actions import DONE, perform
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.receipt import FAILED_MARK, MARKS
from bridle.views.terminal.rich_text import rich_style, to_rich_text
from bridle.views.terminal.styled_lines import Line, styled_line, truncate, wrap_text
from bridle.views.top import run_rows
from bridle.views.top.dialogs import AnswerDialog, ConfirmDialog, HelpDialog, LineDialog
from bridle.views.top.run_screen import RunScreen, update_text
from bridle.views.top.run_source import RunSource
from bridle.wire.mask import Mask

# Short enough to see a run move, long enough that an idle view costs nothing that can be measured.
REFRESH_SECONDS = 1.0
_DETAIL_LINES = 7
_ANSWERS = ("answer", "approve", "reject")
EMPTY = "No run yet. Start one: bridle run PLAN.md, or try: bridle demo"

STYLE = """
Screen { layout: vertical; }
#title { height: 1; }
#runs { height: 1fr; }
DataTable > .datatable--header { background: ansi_default; color: ansi_default; text-style: bold underline; }
DataTable > .datatable--cursor, DataTable:focus > .datatable--cursor {
    background: ansi_default; color: ansi_default; text-style: reverse;
}
Button:focus { text-style: reverse bold; }
#detail { height: 8; border-top: solid ansi_bright_black; padding: 0 1; }
#head { height: auto; padding: 0 1; }
#panes { height: 1; padding: 0 1; }
ContentSwitcher { height: 1fr; }
#task-list { height: auto; max-height: 50%; }
#task { height: 1fr; border-top: solid ansi_bright_black; padding: 0 1; }
#log { height: 1fr; }
#log-name { height: 1; padding: 0 1; }
#journal { height: 1fr; padding: 0 1; }
ModalScreen { align: center middle; }
.dialog { width: 90%; max-width: 100; height: auto; max-height: 90%; border: round; padding: 0 1; }
.dialog-title { height: auto; margin-bottom: 1; }
Input { margin: 1 0; }
#asked { height: auto; max-height: 12; }
#payload, #question, #commands { height: auto; }
.buttons { height: 1; }
.buttons Button { margin-right: 2; }
"""


class RunsScreen(Screen[None]):
    """The list of runs, and what the selected one does or needs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "open", priority=True)]
    app: TopApp

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, run_rows.RunRow] = {}

    def compose(self) -> ComposeResult:
        """Draw the title, the list and the detail."""
        yield Static(id="title")
        yield DataTable(id="runs", cursor_type="row", cell_padding=0)
        yield Static(id="detail")
        yield Footer()

    def on_mount(self) -> None:
        """Show what is known."""
        self.query_one("#runs").focus()
        self.update()

    def on_resize(self) -> None:
        """Draw the list for the new width."""
        self._rows = {}
        self.update()

    @property
    def selected(self) -> KnownRun | None:
        """The run under the cursor."""
        runs = list(self.app.source.board.runs.values())
        row = self.query_one("#runs", DataTable).cursor_row
        return runs[row] if 0 <= row < len(runs) else None

    def update(self) -> None:
        """Show the runs as they are now."""
        if self.is_mounted and self.size.width:
            with suppress(NoMatches):  # of a screen that closes the widgets are removed first
                self._draw()

    def action_open(self) -> None:
        """Open the selected run."""
        if self.selected is not None:
            self.app.push_screen(RunScreen(self.selected))

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        """Show what the run under the cursor does or needs."""
        self._draw_detail()

    def _draw(self) -> None:
        """Draw the runs; rows that are the same are not drawn again."""
        width, now = self.size.width - 2, self.app.now()
        runs = self.app.source.board.runs
        rows = {
            name: run_rows.run_row(known.card, needs_user=asks_user(known), now=now, width=width)
            for name, known in runs.items()
        }
        if list(rows) != list(self._rows):
            self._draw_all(rows, width)
        else:
            self._draw_changed(rows)
        self._rows = rows
        self._draw_title(len(rows))
        self._draw_detail()

    def _draw_all(self, rows: dict[str, run_rows.RunRow], width: int) -> None:
        table = self.query_one("#runs", DataTable)
        selected = list(self._rows)[table.cursor_row] if self._rows and table.cursor_row < len(self._rows) else None
        table.clear(columns=True)
        for label, room in zip(run_rows.COLUMNS, run_rows.column_widths(width), strict=True):
            table.add_column(Text(label), width=room + 1, key=label)
        for name, row in rows.items():
            table.add_row(*_cells(row), key=name)
        if selected in rows:
            table.move_cursor(row=list(rows).index(selected), animate=False)

    def _draw_changed(self, rows: dict[str, run_rows.RunRow]) -> None:
        table = self.query_one("#runs", DataTable)
        for name, row in rows.items():
            if row != self._rows[name]:
                for label, cell in zip(run_rows.COLUMNS, _cells(row), strict=True):
                    table.update_cell(name, label, cell)

    def _draw_title(self, count: int) -> None:
        needs = sum(bool(known.needs) for known in self.app.source.board.runs.values())
        asks = f", {needs} need you" if needs > 1 else ", 1 needs you" if needs else ""
        name = truncate(self.app.place, max(10, self.size.width - 40))
        style = rich_style("question" if needs else "")
        title = Text.assemble(("bridle top", "bold"), f"  {name}  ", (f"{format_count(count, 'run')}{asks}", style))
        update_text(self.query_one("#title", Static), title)

    def _draw_detail(self) -> None:
        known, width = self.selected, max(20, self.size.width - 2)
        lines = [styled_line(EMPTY, "dim")] if known is None else list(self._detail(known, width))
        update_text(self.query_one("#detail", Static), to_rich_text(lines[:_DETAIL_LINES]))

    def _detail(self, known: KnownRun, width: int) -> list[Line]:
        """Return the lines below the list: what the run needs, what it does, what its agent said last."""
        card, page = known.card, Page(self.app.source.mask, DisplayOptions(width=width))
        lines = [styled_line(truncate(f"{card['run']}  {page.clean(card['repository'] or '')}", width), "dim")]
        for need in known.needs[:2]:
            text = f"{need['kind']}: {need['task'] or need['title'] or ''}: {need['text']}"
            wrapped = list(wrap_text(" ".join(page.escape(text).split()), width))
            lines += [styled_line(line, "question") for line in wrapped[:2]]
            how = "press a to answer" if need["effect"] else page.clean(need["commands"][0])
            lines.append(styled_line(truncate(how, width), "dim"))
        for text, style in ((card["reason"], ""), (card["last_text"], "answer")):
            if text:
                lines += [styled_line(line, style) for line in list(wrap_text(page.clean(text), width))[:2]]
        marks = (f"{MARKS.get(task['verdict'], FAILED_MARK)[0]} {task['title']}" for task in card["tasks"])
        return [*lines, styled_line(truncate(page.clean("  ".join(marks)), width), "dim")]


class TopApp(App[None]):
    """`bridle top`."""

    CSS = STYLE
    TITLE = "bridle top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer", "answer"),
        Binding("s", "stop", "stop"),
        Binding("r", "resume", "resume"),
        Binding("h", "hint", "hint"),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, board: Board, mask: Mask, place: str, environment: Mapping[str, str]) -> None:
        super().__init__(ansi_color=True)  # from the start: the filter for NO_COLOR is chosen here
        self.source = RunSource(board, mask)
        self.place = place
        self._environment = environment
        self._refreshing = asyncio.Lock()

    async def on_mount(self) -> None:
        """Read the runs, show them, and look again every second."""
        self.theme = "ansi-dark"  # the terminal's own colours, on a light background too
        await self.source.refresh()
        await self.push_screen(RunsScreen())
        self.set_interval(REFRESH_SECONDS, self.refresh_runs)

    def on_unmount(self) -> None:
        """End the reading thread."""
        self.source.close()

    def now(self) -> float:
        """Return the present time in seconds since the epoch."""
        return time.time()

    async def refresh_runs(self) -> None:
        """Read what has changed and show it; one look at a time."""
        if self._refreshing.locked():
            return
        async with self._refreshing:
            await self.source.refresh()
            for screen in self.screen_stack:
                if isinstance(screen, RunsScreen):
                    screen.update()
                elif isinstance(screen, RunScreen):
                    screen.known = self.source.board.runs.get(screen.known.folder.name, screen.known)
                    await screen.update()

    @property
    def chosen(self) -> KnownRun | None:
        """The run that is open, or under the cursor of the list."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, RunScreen):
                return screen.known
            if isinstance(screen, RunsScreen):
                return screen.selected
        return None

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpDialog())

    def action_answer(self) -> None:
        """Answer the oldest question of the run."""
        known = self.chosen
        asked = [need for need in known.needs if need["effect"]] if known is not None else []
        if known is None or not asked:
            self._say("This run asks nothing.")
            return
        need, page = asked[0], Page(self.source.mask, DisplayOptions())

        def send(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                action, text = answer
                self._act(known, action, effect=need["effect"], text=text)

        self.push_screen(AnswerDialog(need, page), send)

    def action_stop(self) -> None:
        """Stop the run after a confirmation."""
        known = self.chosen
        if known is None or known.card["driver"] is None:
            self._say("This run is not running.")
            return
        question = f"Stop {known.folder.name}? Its state is kept, and r continues it."
        self.push_screen(ConfirmDialog(question), lambda yes: self._act(known, "stop") if yes else None)

    def action_resume(self) -> None:
        """Continue the run in a process of its own."""
        known = self.chosen
        if known is None or known.card["driver"] is not None:
            self._say("This run is running already." if known is not None else "There is no run.")
        else:
            self._act(known, "resume")

    def action_hint(self) -> None:
        """Write a hint for the next iteration."""
        known = self.chosen
        if known is None:
            return
        dialog = LineDialog(f"Hint for the next iteration of {known.folder.name}", "what it should consider")
        self.push_screen(dialog, lambda text: self._act(known, "hint", text=text) if text else None)

    def retry(self, known: KnownRun, task: str) -> None:
        """Try a task again after a confirmation."""
        page = Page(self.source.mask, DisplayOptions())
        question = f"Try {' '.join(page.clean(task).split())!r} again, with all its tries?"
        self.push_screen(
            ConfirmDialog(question), lambda yes: self._act(known, "retry", task=task, resume=True) if yes else None
        )

    def _act(self, known: KnownRun, action: str, **fields: str | bool) -> None:
        self.run_worker(self._perform(known, {"action": action, **fields}))

    async def _perform(self, known: KnownRun, action: dict[str, str | bool]) -> None:
        """Run the command of an action, and show what it says."""
        is_driven = known.card["driver"] is not None
        folder = known.folder if known.facts is None else known.facts.repository
        try:
            is_loop = known.card["is_loop"]
            command = build_command(action, Target(known.folder, is_loop=is_loop, is_driven=is_driven))
            done = await perform(command, name=known.folder.name, cwd=folder, environment=self._environment)
        except Error as error:
            self._say(error.message, is_error=True)
            return
        if done.ok and done.message == DONE and action["action"] in _ANSWERS:
            how = "its driver reads it now" if is_driven else "r continues the run"
            self._say(f"{action['action']} recorded; {how}")
        else:
            self._say(f"{done.message} {done.remedy}".strip(), is_error=not done.ok)
        await self.refresh_runs()

    def _say(self, message: str, *, is_error: bool = False) -> None:
        page = Page(self.source.mask, DisplayOptions())
        self.notify(page.clean(message), severity="error" if is_error else "information", markup=False)


def asks_user(known: KnownRun) -> bool:
    """Return whether a run asks something that can be answered."""
    return any(need["effect"] for need in known.needs)


def _cells(row: run_rows.RunRow) -> list[Text]:
    return [Text(cell, rich_style(row.style) if index == 0 else "") for index, cell in enumerate(row.cells)]
