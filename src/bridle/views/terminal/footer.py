"""The lines of a footer: how a turn ended, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.views.terminal.page import Page, counted, spoken_seconds
from bridle.views.terminal.styled_lines import Line, indented, line, wrapped
from bridle.wire.transcript.items import Footer

DENIED = "⊘"


def footer_lines(page: Page, footer: Footer, width: int) -> Iterator[Line]:
    """How it ended and what it cost; then what it said that nobody said before, its errors and denials."""
    style = "state.error" if footer.failed else "state.ok"
    for place, one in enumerate(wrapped(_words(page, footer), width - 3)):
        yield line(f"{'──' if place == 0 else '  '} {one}", style)
    if footer.text:
        label = "error" if footer.failed else "result"
        yield from indented(page.labelled(label, footer.text, width - 3, None, "answer"), "   ")
    for error in footer.errors:
        yield from (line(f"   {one}", "state.error") for one in wrapped(page.clean(error), width - 3))
    if footer.denials:
        names = ", ".join(page.clean(denial.tool or "?") for denial in footer.denials)
        words = f"{DENIED} {counted(len(footer.denials), 'call')} denied: {names}"
        yield from (line(f"   {one}", "state.denied") for one in wrapped(words, width - 3))


def _words(page: Page, footer: Footer) -> str:
    words = ["✗ failed" if footer.failed else "✓ finished"]
    if footer.subtype and footer.subtype != "success":
        words[0] += f": {page.clean(footer.subtype)}"
    if footer.terminal_reason not in (None, "completed"):
        words[0] += f" ({page.clean(footer.terminal_reason or '')})"
    if footer.api_error_status is not None:
        words.append(f"API status {footer.api_error_status}")
    if footer.cost_usd is not None:
        words.append(f"${footer.cost_usd:.4f}" + " so far" * (footer.earlier_turns > 0))
    if footer.turns is not None:
        words.append(counted(footer.turns, "turn"))
    if footer.seconds is not None:
        words.append(spoken_seconds(footer.seconds))
    if footer.tokens is not None:
        cached = footer.tokens.cache_read + footer.tokens.cache_written
        aside = f" and {cached:,} cached" if cached else ""
        words.append(f"{footer.tokens.input:,}{aside} tokens in, {footer.tokens.output:,} out")
    if footer.from_background:
        words.append("begun by a background task")
    return " · ".join(words)
