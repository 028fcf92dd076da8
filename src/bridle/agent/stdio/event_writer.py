"""Prints events in the chosen output format: every event, the last result, or the text of the last result."""

from __future__ import annotations

import msgspec

from bridle.agent.stdio.output import Output
from bridle.agent.stdio.output_events import ErrorResult, Event, Result, SuccessResult
from bridle.wire.events.loose_json import to_bytes


class EventWriter:
    """Writes events to an `Output` as `--output-format` and `--verbose` demand."""

    def __init__(self, output: Output, output_format: str, *, is_verbose: bool) -> None:
        self.output = output
        self._format = output_format
        self._writes_array = output_format == "json" and is_verbose
        self._has_begun = False
        self._last: Result | None = None

    def write(self, event: Event) -> None:
        """Print an event; a result is also kept for `finish`."""
        if isinstance(event, SuccessResult | ErrorResult):
            self._last = event
        if self._format == "stream-json":
            self.output.event(event)
        elif self._writes_array:
            self.output.write_json((b"," if self._has_begun else b"[") + _encode(event))
            self._has_begun = True

    def finish(self) -> None:
        """Print what the format shows at the end."""
        if self._writes_array:
            self.output.write(b"]\n" if self._has_begun else b"[]\n")
        elif self._last is not None and self._format == "json":
            self.output.write_json(_encode(self._last) + b"\n")
        elif self._last is not None and self._format == "text":
            self.output.write(_text(self._last))


def _encode(event: Event) -> bytes:
    return to_bytes(msgspec.to_builtins(event))


def _text(result: Result) -> bytes:
    """Return the answer with a line end, or the error without one, as Claude Code does; its reason is our own line."""
    if isinstance(result, SuccessResult):
        end = "" if result.result.endswith("\n") else "\n"
        return (result.result + end).encode("utf-8", "surrogatepass")
    error = result.errors[0] if result.errors else ""
    match result.subtype:
        case "error_max_turns":
            return f"Error: {error.replace('maximum number of turns', 'max turns')}".encode()
        case "error_max_budget_usd":
            return f"Error: Exceeded USD budget{error.partition('budget')[2]}".encode()
        case "error_max_structured_output_retries":
            return f"Error: {error}".encode()
        case _:
            return f"Execution error: {error}\n".encode("utf-8", "surrogatepass") if error else b"Execution error"
