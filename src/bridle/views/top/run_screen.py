"""The screen of one run: its tasks with their checks, the live conversation of its agents, its journal."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widgets import ContentSwitcher, DataTable, Footer, Static

from bridle.views.format_amounts import format_clock
from bridle.views.run_data.board import KnownRun
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.rich_text import rich_style
from bridle.views.terminal.styled_lines import Line, styled_line, truncate
from bridle.views.top import task_rows
from bridle.views.top.line_view import LineView
from bridle.views.top.run_rows import STATES, elapsed_seconds, format_cost
from bridle.views.top.run_source import Host, OpenConversation

PANES = ("tasks", "conversation", "journal")


class RunScreen(Screen[None]):
    """One run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back"),
        Binding("1", "pane('tasks')", "tasks", show=False),
        Binding("2", "pane('conversation')", "conversation", show=False),
        Binding("3", "pane('journal')", "journal", show=False),
        Binding("left_square_bracket", "log(-1)", "earlier", show=False),
        Binding("right_square_bracket", "log(1)", "later", show=False),
        Binding("t", "retry", "retry"),
    ]

    def __init__(self, known: KnownRun) -> None:
        super().__init__()
        self.known = known
        self._conversation: OpenConversation | None = None
        self._log_index: int | None = None
        """The chosen log; None for the newest."""
        self._journal_count = -1
        self._shown_tasks: list[tuple[str, ...]] = []

    def compose(self) -> ComposeResult:
        """Draw the head, the names of the panes and the panes."""
        yield Static(id="head")
        yield Static(id="panes")
        with ContentSwitcher(initial="tasks"):
            with Vertical(id="tasks"):
                yield DataTable(id="task-list", cursor_type="row", cell_padding=0)
                yield LineView(id="task")
            with Vertical(id="conversation"):
                yield Static(id="log-name")
                yield LineView(id="log")
            yield LineView(id="journal")
        yield Footer()

    async def on_mount(self) -> None:
        """Show the run."""
        self.query_one("#task-list").focus()
        await self.update()

    async def on_resize(self) -> None:
        """Draw everything for the new width."""
        self._shown_tasks, self._journal_count = [], -1
        self._close_conversation()
        await self.update()

    def on_unmount(self) -> None:
        """Close the file of the conversation."""
        self._close_conversation()

    @property
    def host(self) -> Host:
        """The program that shows this screen."""
        return cast(Host, self.app)

    @property
    def pane(self) -> str:
        """The pane that is shown."""
        return self.query_one(ContentSwitcher).current or "tasks"

    @property
    def selected_task(self) -> str | None:
        """The title of the task under the cursor."""
        facts = self.known.facts
        tasks = () if facts is None or facts.receipt is None else facts.receipt.tasks
        row = self.query_one("#task-list", DataTable).cursor_row
        return tasks[row].title if 0 <= row < len(tasks) else None

    async def update(self) -> None:
        """Show the run as it is now."""
        if self.is_mounted and self.size.width:
            with suppress(NoMatches):  # of a screen that closes the widgets are removed first
                await self._draw()

    async def action_pane(self, name: str) -> None:
        """Show a pane."""
        self.query_one(ContentSwitcher).current = name
        focused = {"tasks": "#task-list", "conversation": "#log", "journal": "#journal"}[name]
        self.query_one(focused).focus()
        await self.update()

    async def action_log(self, step: int) -> None:
        """Show the conversation before or after the one that is shown."""
        count = len(self.known.logs)
        if self.pane != "conversation" or not count:
            return
        current = count - 1 if self._log_index is None else self._log_index
        chosen = min(max(current + step, 0), count - 1)
        self._log_index = None if chosen == count - 1 else chosen
        await self.update()

    def action_retry(self) -> None:
        """Try the selected task again."""
        if self.selected_task is not None:
            self.host.retry(self.known, self.selected_task)

    def action_leave(self) -> None:
        """Go back to the list of runs."""
        self.app.pop_screen()

    def on_data_table_row_highlighted(self, _event: DataTable.RowHighlighted) -> None:
        """Show the task under the cursor."""
        self._draw_task()

    def _page(self, width: int | None = None) -> Page:
        return Page(self.host.source.mask, DisplayOptions(width=width or self.size.width))

    async def _draw(self) -> None:
        self._draw_head()
        self._draw_tasks()
        if self.pane == "conversation":
            await self._draw_conversation()
        elif self.pane == "journal":
            await self._draw_journal()

    def _draw_head(self) -> None:
        card, width = self.known.card, self.size.width
        state, style = STATES.get(card["state"], (card["state"], ""))
        page = self._page()
        figures = f"{format_clock(elapsed_seconds(card, self.host.now()))} · {format_cost(card)} USD"
        title = truncate(" ".join(page.clean(card["plan"] or card["run"]).split()), max(10, width - len(figures) - 16))
        reason = truncate(" ".join(page.clean(card["reason"] or "").split()), width)
        head = Text.assemble((f"{state} ", rich_style(style)), (title, "bold"), f"  {figures}", no_wrap=True)
        update_text(self.query_one("#head", Static), Text("\n").join([head, Text(reason, "dim")]) if reason else head)
        names = [
            Text(f" {number} {name} ", "reverse" if name == self.pane else "")
            for number, name in enumerate(PANES, start=1)
        ]
        update_text(self.query_one("#panes", Static), Text(" ").join(names))

    def _draw_tasks(self) -> None:
        facts = self.known.facts
        tasks = () if facts is None or facts.receipt is None else facts.receipt.tasks
        table, page, width = self.query_one("#task-list", DataTable), self._page(), self.size.width - 2
        rows = [task_rows.task_row(page, task, width) for task in tasks]
        shown = [(row.style, *row.cells) for row in rows]
        if shown != self._shown_tasks or not table.columns:
            place = table.cursor_row
            table.clear(columns=True)
            for label, room in zip(task_rows.COLUMNS, task_rows.column_widths(width), strict=True):
                table.add_column(Text(label), width=room + 1)
            for row in rows:
                table.add_row(*(Text(cell, rich_style(row.style)) for cell in row.cells))
            table.move_cursor(row=min(place, len(rows) - 1) if rows else 0, animate=False)
            self._shown_tasks = shown
            self._draw_task()

    def _draw_task(self) -> None:
        facts, title = self.known.facts, self.selected_task
        view = self.query_one("#task", LineView)
        if facts is None or facts.receipt is None or title is None:
            view.show([styled_line("no task", "dim")])
            return
        task = next(task for task in facts.receipt.tasks if task.title == title)
        width = max(20, self.size.width - 2)
        view.show(list(task_rows.task_lines(self._page(width), task, width)))

    async def _draw_conversation(self) -> None:
        logs, view = self.known.logs, self.query_one("#log", LineView)
        name = self.query_one("#log-name", Static)
        if not logs:
            update_text(name, Text("no agent was started", "dim"))
            view.show([])
            return
        index = len(logs) - 1 if self._log_index is None else min(self._log_index, len(logs) - 1)
        listed, width = logs[index], max(20, view.size.width or self.size.width)
        is_new = self._conversation is None or self._conversation.listed != listed or self._conversation.width != width
        if is_new:
            self._close_conversation()
            self._conversation = OpenConversation(listed, listed.named.agent, self.host.source.mask, width)
        title = f"{index + 1} of {len(logs)}: {listed.named.title or listed.id}"
        update_text(name, Text(truncate(self._page().clean(title), self.size.width - 2), "bold"))
        conversation = self._conversation
        if conversation is None:
            return
        lines: list[Line] | None = await self.host.source.read(conversation.update)
        if lines is not None and conversation is self._conversation:
            view.show(lines, at_end=is_new)

    async def _draw_journal(self) -> None:
        facts = self.known.facts
        count = -1 if facts is None else facts.state.position.seq
        if count == self._journal_count:
            return
        is_first, self._journal_count = self._journal_count < 0, count
        entries = await self.host.source.journal(self.known)
        view = self.query_one("#journal", LineView)
        width = max(20, self.size.width - 2)
        view.show(list(task_rows.journal_lines(self._page(width), entries, width)), at_end=is_first)

    def _close_conversation(self) -> None:
        if self._conversation is not None:
            self._conversation.close()
            self._conversation = None


def update_text(widget: Static, text: Text) -> None:
    """Show a text, unless it is shown already: an idle view draws nothing."""
    if widget.content != text:
        widget.update(text)
