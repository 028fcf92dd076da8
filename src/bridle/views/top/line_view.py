"""A scrolled list of styled lines, of which only the visible ones are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from bridle.views.terminal.rich_text import rich_style
from bridle.views.terminal.styled_lines import Line


class LineView(ScrollView, can_focus=True):
    """Lines that fit the width. At its end, the view stays at the end when lines are added."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # the name that Textual uses
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line], *, at_end: bool = False) -> None:
        """Replace the lines; the place stays, unless the end was shown or is requested."""
        was_at_end = at_end or (bool(self._lines) and self.is_vertical_scroll_end)
        self._lines = lines
        self.virtual_size = Size(self.size.width, len(lines))
        if was_at_end:
            self.call_after_refresh(self.scroll_end, animate=False, immediate=True)  # once the new size is known
        self.refresh()

    @property
    def text(self) -> str:
        """All lines as plain text."""
        return "\n".join(line.plain for line in self._lines)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        index = self.scroll_offset.y + y
        width = self.size.width
        base = self.rich_style
        if index >= len(self._lines):
            return Strip.blank(width, base)
        segments = [Segment(text, base + rich_style(style)) for text, style in self._lines[index].segments if text]
        return Strip(segments).adjust_cell_length(width, base)
