"""What a run prints, in the format that was asked for: every event, the last result alone, or its text."""

from __future__ import annotations

from typing import Any

from bridle.agent.stdio.output import Output
from bridle.wire.events.loose_json import to_bytes


class Speaker:
    """Turns events into what the format shows of them."""

    def __init__(self, output: Output, output_format: str, *, is_verbose: bool) -> None:
        self.output = output
        self._format = output_format
        self._keeps_all = output_format == "json" and is_verbose
        self._began = False
        self._last: dict[str, Any] | None = None

    def event(self, event: dict[str, Any]) -> None:
        """Something happened."""
        if self._format == "stream-json":
            self.output.event(event)
        elif self._keeps_all:
            self.output.write((b"," if self._began else b"[") + to_bytes(event))
            self._began = True

    def result(self, event: dict[str, Any]) -> None:
        """A turn ended."""
        self._last = event
        self.event(event)

    def finish(self) -> None:
        """Nothing more will happen."""
        if self._keeps_all:
            self.output.write(b"]\n" if self._began else b"[]\n")
        elif self._last is not None and self._format == "json":
            self.output.write(to_bytes(self._last) + b"\n")
        elif self._last is not None and self._format == "text":
            self.output.write(_text(self._last))


def _text(result: dict[str, Any]) -> bytes:
    """The answer, or in place of one what went wrong, without a line's end, as programs have seen it."""
    if result["subtype"] == "success":
        return f"{result['result']}\n".encode("utf-8", "surrogatepass")
    if result["subtype"] == "error_max_turns":
        said = result["errors"][0].replace("maximum number of turns", "max turns")
        return f"Error: {said}".encode()
    if result["subtype"] == "error_max_budget_usd":
        return f"Error: Exceeded USD budget{result['errors'][0].partition('budget')[2]}".encode()
    if result["subtype"] == "error_max_structured_output_retries":
        return f"Error: {result['errors'][0]}".encode()
    return b"Execution error"
