"""A running loop line by line: for a pipe, for a log, and above the live view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.loop import effects
from bridle.loop.checks.run_check import TIMED_OUT
from bridle.loop.control.usage_limit_waits import Wait
from bridle.loop.progress_events import AgentPrinted, EffectFinished, EffectStarted, Progress
from bridle.views.format_amounts import format_duration, format_time, format_usd
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.views.terminal.styled_lines import Line, Segment, styled_line
from bridle.wire.events.blocks import Text, ToolUse
from bridle.wire.events.events import Assistant, Event
from bridle.wire.mask import Mask
from bridle.wire.record.record import MAIN
from bridle.wire.transcript.call_summary import summarize_call
from bridle.wire.transcript.clip import Clip

# Of an agent's text or question: what fits into two lines of a wide terminal.
TEXT_CHARACTERS = 200
# Of a commit's id: enough for git to know it.
COMMIT_CHARACTERS = 10
_INDENT = "      "

Write = Callable[[Line], None]


class RunPrinter:
    """A printer of progress events, with secrets masked and control characters escaped."""

    def __init__(
        self,
        titles: Sequence[str],
        *folders: Path,
        mask: Mask,
        write: Write,
        shows_tools: bool = True,
        is_parallel: bool = False,
    ) -> None:
        self._numbers = {title: number for number, title in enumerate(titles, start=1)}
        self._agent_lines = AgentLines(*folders, mask=mask)
        self._is_parallel = is_parallel
        self._mask = mask
        self._write = write
        self._shows_tools = shows_tools

    def print(self, progress: Progress) -> None:
        """Print the lines of one progress event, if any."""
        for text, style in self._lines(progress):
            self._write(styled_line(escape_unprintable(self._mask.apply(text)), style))

    def _lines(self, progress: Progress) -> Iterator[Segment]:
        match progress:
            case EffectStarted(effects.WORK, args):
                number = self._number(str(args["task"]))
                yield f"{number} {args['task']}: iteration {args['iteration']} ({args['agent']})", "summary"
            case EffectStarted(effects.SUMMARIZE, _):
                yield "summarizing the progress so far", "dim"
            case AgentPrinted(task, event) if self._shows_tools:
                yield from ((f"{self._prefix(task)}{text}", "dim") for text in self._agent_lines.from_event(event))
            case EffectFinished(kind, args, value):
                prefix = self._prefix(args.get("task"))
                yield from ((f"{prefix}{text}", style) for text, style in _finished(kind, args, value))
            case _:
                return

    def _number(self, task: str) -> str:
        return f"[{self._numbers.get(task, 0)}/{len(self._numbers)}]"

    def _prefix(self, task: str | None) -> str:
        """Return the task's number if several tasks run at once, else the indent below the task's line."""
        return f"{self._number(task)}   " if task is not None and self._is_parallel else _INDENT


def format_wait(wait: Wait) -> str:
    """Format a wait after which the run continues automatically."""
    return f"waiting until {format_time(wait.until_seconds)} ({wait.why}), then continues automatically"


class AgentLines:
    """The text blocks and tool calls of an agent, one line each."""

    def __init__(self, *folders: Path, mask: Mask) -> None:
        # Longest first: a worktree may be inside its repository.
        self._prefixes = sorted((f"{folder}/" for folder in folders), key=len, reverse=True)
        self._clip = Clip(mask)

    def from_event(self, event: Event) -> Iterator[str]:
        """Yield the lines of one event; events of sub-agents are left to `bridle show`."""
        if not isinstance(event, Assistant) or event.parent_tool_use_id is not MAIN:
            return
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                yield f"> {self.format_call(block)}"
            elif isinstance(block, Text) and block.text.strip():
                yield self._clip.line(block.text, TEXT_CHARACTERS)

    def format_call(self, block: ToolUse) -> str:
        """Format a tool call, with paths relative to the working copy."""
        summary = summarize_call(block.arguments, self._clip)
        for prefix in self._prefixes:
            summary = summary.replace(prefix, "")
        return f"{block.name} {summary}".rstrip()


# The call by which an agent answers in a schema: its fields are shown when the agent has finished.
STRUCTURED_OUTPUT = "StructuredOutput"


def _finished(kind: str, args: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[Segment]:
    match kind:
        case effects.PREPARE:
            yield f"on the branch {value.get('branch')}", "dim"
        case effects.WORK:
            yield from _worked(value)
        case effects.CHECK:
            yield from _checked(args, value)
        case effects.PROTECT:
            for undone in value.get("undone") or ():
                yield f"restored {undone.get('path')}: {undone.get('what')}", "state.denied"
            for report in value.get("reported") or ():
                yield f"note: {report.get('path')}: {report.get('what')}", "state.denied"
        case effects.COMMIT:
            yield from _committed(value)
        case effects.TAKE if value.get("conflicts"):
            yield f"restarting from the landed work; the earlier work is kept as {args.get('kept')}", "dim"
        case effects.MERGE if value.get("conflicts"):
            yield f"merge conflict with landed work: {', '.join(value['conflicts'])}", "state.denied"
        case effects.LAND:
            yield f"landed {str(value.get('commit'))[:COMMIT_CHARACTERS]} on {value.get('branch')}", "state.ok"
        case effects.ROLLBACK:
            yield f"reverted: {args.get('why')}", "state.denied"
        case _:
            return


def _worked(value: Mapping[str, Any]) -> Iterator[Segment]:
    """Yield how the agent ended; the checks decide whether its work is right."""
    spent = f"{format_usd(value.get('cost_usd'))}, {format_duration(value.get('seconds'))}"
    message = " ".join(str(value.get("said") or "no output").split())[:TEXT_CHARACTERS]
    match value.get("ending"):
        case effects.LIMIT:
            until = value.get("resets_at")
            when = (
                f", resets {format_time(datetime.fromisoformat(until).timestamp())}" if isinstance(until, str) else ""
            )
            yield f"usage limit reached{when} ({spent})", "question"
        case effects.TRANSIENT:
            yield f"temporary API error: {message}", "question"
        case effects.UNUSABLE:
            yield f"agent unavailable: {message}", "state.error"
        case effects.CRASHED:
            yield f"agent crashed: {message} ({spent})", "state.error"
        case effects.QUESTION:
            yield f"question: {value.get('question') or message} ({spent})", "question"
        case _:
            summary = " ".join(str(value.get("summary") or "–").split())[:TEXT_CHARACTERS]
            changed = "" if value.get("changed") else ", no changes"
            yield f"{'reports done' if value.get('done') else 'finished'}: {summary} ({spent}{changed})", ""
    for denial in value.get("denials") or ():
        yield f"denied: {denial}", "state.denied"


def _checked(args: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[Segment]:
    """Yield each of the task's own checks and the guard; those of other tasks only where one fails."""
    if args.get("when") == "before":
        if value.get("passed"):
            yield f"{args.get('task')}: checks already pass before any work", "state.ok"
        return
    results = value.get("results") or []
    others = [check for check in results if check.get("of") not in ("task", "guard") and check.get("exit_code") == 0]
    yield from (_check(check) for check in results if check not in others)
    if others:
        seconds = sum(float(check.get("seconds") or 0) for check in others)
        yield f"checks of other tasks passed: {len(others)} ({format_duration(seconds)})", "state.ok"


def _check(check: Mapping[str, Any]) -> Segment:
    code, owner = check.get("exit_code"), check.get("of")
    result = "passed" if code == 0 else "timed out" if code == TIMED_OUT else f"failed ({code})"
    of = "" if owner in ("task", "guard") else f" of {owner!r}"
    style = "state.ok" if code == 0 else "state.error"
    return f"check{of} {result}: {check.get('command')} ({format_duration(check.get('seconds'))})", style


def _committed(value: Mapping[str, Any]) -> Iterator[Segment]:
    if value.get("refused"):
        yield f"commit rejected: {str(value['refused'])[:TEXT_CHARACTERS]}", "state.error"
    elif value.get("commit"):
        yield f"committed {str(value['commit'])[:COMMIT_CHARACTERS]}", "code"
    if value.get("folded"):
        yield f"squashed {len(value['folded'])} commits made by the agent", "dim"
