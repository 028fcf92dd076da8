"""The cards at the end: how a turn ended and what it cost, how the process ended, and how full the context is."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from bridle.views.format_amounts import format_count, format_duration, format_time
from bridle.views.terminal.page import Page
from bridle.views.terminal.styled_lines import Line, indent, styled_line, wrap_text
from bridle.wire.record.gauge import Gauge
from bridle.wire.transcript.items import Footer, ProcessEnd

DENIED = "⊘"
STDERR_LINES = 10
# A shell reports a program that a signal ended with 128 plus the signal's number.
SIGNAL_OFFSET = 128


def footer_lines(page: Page, footer: Footer, width: int) -> Iterator[Line]:
    """Yield how the turn ended and what it cost, then its unshown result text, errors and denials."""
    style = "state.error" if footer.failed or footer.is_empty else "state.denied" if footer.denials else "state.ok"
    for index, text in enumerate(wrap_text(footer_figures(page, footer), width - 3)):
        yield styled_line(f"{'──' if index == 0 else '  '} {text}", style)
    if footer.text:
        label = "error" if footer.failed else "result"
        yield from indent(page.labelled(label, footer.text, width - 3, None, "answer"), "   ")
    for error in footer.errors:
        yield from (styled_line(f"   {text}", "state.error") for text in wrap_text(page.clean(error), width - 3))
    if footer.denials:
        names = ", ".join(page.clean(denial.tool or "?") for denial in footer.denials)
        denied = f"{DENIED} {format_count(len(footer.denials), 'call')} denied: {names}"
        yield from (styled_line(f"   {text}", "state.denied") for text in wrap_text(denied, width - 3))


def process_end_lines(page: Page, end: ProcessEnd, width: int) -> Iterator[Line]:
    """Yield how the agent's process ended, and the last lines of its standard error."""
    for index, text in enumerate(wrap_text(process_end_text(page, end), width - 3)):
        yield styled_line(f"{'──' if index == 0 else '  '} {text}", "state.error")
    lines = page.clean(end.stderr).split("\n") if end.stderr else []
    shown = lines if page.options.full else lines[-STDERR_LINES:]
    earlier = len(lines) - len(shown) + end.omitted_lines
    if earlier:
        yield styled_line(f"   … {format_count(earlier, 'earlier line')} of stderr", "dim")
    if shown:
        yield from indent(page.labelled("stderr", "\n".join(shown), width - 3, None, "state.error"), "   ")


def process_end_text(page: Page, end: ProcessEnd) -> str:
    """Return how the agent's process ended, in one line."""
    facts = ", ".join(filter(None, (_exit_code(end.exit_code), page.clean(end.reason))))
    return f"✗ the agent's process ended: {facts}" if end.is_known else f"✗ {facts}"


def gauge_lines(page: Page, gauge: Gauge, width: int) -> Iterator[Line]:
    """Yield how full the model's context is, and when the account's limit resets; nothing where neither is known."""
    text = gauge_text(page, gauge)
    for index, part in enumerate(wrap_text(text, width - 3) if text else ()):
        yield styled_line(f"{'──' if index == 0 else '  '} {part}", "dim")


def gauge_text(page: Page, gauge: Gauge) -> str:
    """Return the same in one line; empty where nothing is known."""
    parts = []
    if gauge.context_tokens > 0:
        least = "" if gauge.is_window_known else "about "
        window = f"{gauge.context_tokens:,} of {least}{gauge.context_window:,} tokens"
        parts.append(f"context {window} ({gauge.context_percent:.0f}%)")
    if gauge.resets_at is not None:
        kind = f" ({page.clean(gauge.limit_kind).replace('_', ' ')})" if gauge.limit_kind else ""
        status = page.clean(gauge.limit_status or "known").replace("_", " ")
        parts.append(f"limit {status}{kind}, next reset {format_time(gauge.resets_at)}")
    return " · ".join(parts).replace("\n", " ")


def _exit_code(code: int | None) -> str:
    """Format an exit code with the name of the signal that it means."""
    if code is None:
        return ""
    number = -code if code < 0 else code - SIGNAL_OFFSET
    name = signal.Signals(number).name if number in set(signal.Signals) else ""
    return f"exit code {code} ({name})" if name else f"exit code {code}"


def _verdict(footer: Footer) -> str:
    if footer.failed:
        return "✗ failed"
    if footer.denials:
        return f"{DENIED} finished, with denied calls"
    return "✗ finished with an empty result and no text" if footer.is_empty else "✓ finished"


def footer_figures(page: Page, footer: Footer) -> str:
    """Return how a turn ended and what it cost, in one line."""
    parts = [_verdict(footer)]
    if footer.subtype and footer.subtype != "success":
        parts[0] += f": {page.clean(footer.subtype)}"
    if footer.terminal_reason not in (None, "completed"):
        parts[0] += f" ({page.clean(footer.terminal_reason or '')})"
    if footer.api_error_status is not None:
        parts.append(f"API status {footer.api_error_status}")
    if footer.cost_usd is not None:
        parts.append(f"${footer.cost_usd:.4f}" + " so far" * (footer.earlier_turns > 0))
    if footer.turns is not None:
        parts.append(format_count(footer.turns, "turn"))
    if footer.seconds is not None:
        parts.append(format_duration(footer.seconds))
    if footer.tokens is not None:
        cached = footer.tokens.cache_read + footer.tokens.cache_written
        cache = f" and {cached:,} cached" if cached else ""
        parts.append(f"{footer.tokens.input:,}{cache} tokens in, {footer.tokens.output:,} out")
    if footer.from_background:
        parts.append("from a background task")
    return " · ".join(parts)
