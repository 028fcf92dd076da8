"""A run of the loop while it is under way, line by line: for a pipe, for a log, and above the live view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.loop import effects
from bridle.loop.checks.run_check import TIMED_OUT
from bridle.loop.control.usage_limit_waits import Wait
from bridle.loop.progress_events import AgentPrinted, EffectFinished, EffectStarted, Progress
from bridle.views.format_amounts import moment, money, span
from bridle.views.terminal.outcome_summary import harmless
from bridle.views.terminal.styled_lines import Line, Segment, line
from bridle.wire.events.blocks import Text, ToolUse
from bridle.wire.events.events import Assistant, Event
from bridle.wire.mask import Mask
from bridle.wire.record.record import MAIN
from bridle.wire.transcript.call_summary import summarise
from bridle.wire.transcript.clip import Clip

# Of an agent's words and of a question: what fits into two lines of a wide terminal.
WORDS_CHARACTERS = 200
# Of an id that git takes as well as the whole one.
COMMIT_CHARACTERS = 10
_INDENT = "      "

Write = Callable[[Line], None]


class Teller:
    """Prints a line or a few for each thing that happens; nothing in them is secret or moves a cursor."""

    def __init__(
        self,
        titles: Sequence[str],
        *folders: Path,
        mask: Mask,
        write: Write,
        shows_tools: bool = True,
        is_side_by_side: bool = False,
    ) -> None:
        self._numbers = {title: number for number, title in enumerate(titles, start=1)}
        self._words = AgentWords(*folders, mask=mask)
        self._is_side_by_side = is_side_by_side
        self._mask = mask
        self._write = write
        self._shows_tools = shows_tools

    def tell(self, progress: Progress) -> None:
        """Print what is worth a line."""
        for text, style in self._lines(progress):
            self._write(line(harmless(self._mask.apply(text)), style))

    def _lines(self, progress: Progress) -> Iterator[Segment]:
        match progress:
            case EffectStarted(effects.WORK, args):
                place = self._place(str(args["task"]))
                yield f"{place} {args['task']}: iteration {args['iteration']} ({args['agent']})", "summary"
            case EffectStarted(effects.SUMMARIZE, _):
                yield "folding the progress so far into a summary", "dim"
            case AgentPrinted(task, event) if self._shows_tools:
                yield from ((f"{self._lead(task)}{words}", "dim") for words in self._words.of(event))
            case EffectFinished(kind, args, value):
                lead = self._lead(args.get("task"))
                yield from ((f"{lead}{words}", style) for words, style in _ended(kind, args, value))
            case _:
                return

    def _place(self, task: str) -> str:
        return f"[{self._numbers.get(task, 0)}/{len(self._numbers)}]"

    def _lead(self, task: str | None) -> str:
        """What a line begins with: it is of the task above, unless several are worked on at once."""
        return f"{self._place(task)}   " if task is not None and self._is_side_by_side else _INDENT


def waits(nap: Wait) -> str:
    """What a run waits for that goes on by itself."""
    return f"waiting until {moment(nap.until_seconds)} ({nap.why}); then it goes on by itself"


class AgentWords:
    """What an agent says and calls, in one line each."""

    def __init__(self, *folders: Path, mask: Mask) -> None:
        # A worktree is below the repository that it is of: the longest name counts.
        self._here = sorted((f"{folder}/" for folder in folders), key=len, reverse=True)
        self._clip = Clip(mask)

    def of(self, event: Event) -> Iterator[str]:
        """The lines of one event; those of a sub-agent are left to `bridle show`."""
        if not isinstance(event, Assistant) or event.parent_tool_use_id is not MAIN:
            return
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                yield f"> {self.call(block)}"
            elif isinstance(block, Text) and block.text.strip():
                yield self._clip.line(block.text, WORDS_CHARACTERS)

    def call(self, block: ToolUse) -> str:
        """A tool call; files of the working copy are named from its top."""
        words = summarise(block.arguments, self._clip)
        for here in self._here:
            words = words.replace(here, "")
        return f"{block.name} {words}".rstrip()


# The call by which an agent answers in a schema: its fields are told when it has ended.
STRUCTURED_OUTPUT = "StructuredOutput"


def _ended(kind: str, args: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[Segment]:
    match kind:
        case effects.PREPARE:
            yield f"on the branch {value.get('branch')}", "dim"
        case effects.WORK:
            yield from _worked(value)
        case effects.CHECK:
            yield from _checked(args, value)
        case effects.PROTECT:
            for one in value.get("undone") or ():
                yield f"a change to {one.get('path')} was undone: {one.get('what')}", "state.denied"
            for one in value.get("reported") or ():
                yield f"note: {one.get('path')}: {one.get('what')}", "state.denied"
        case effects.COMMIT:
            yield from _committed(value)
        case effects.TAKE if value.get("conflicts"):
            yield f"it begins anew with what has landed; its earlier work is kept as {args.get('kept')}", "dim"
        case effects.MERGE if value.get("conflicts"):
            yield f"its work conflicts with what has landed meanwhile: {', '.join(value['conflicts'])}", "state.denied"
        case effects.LAND:
            yield f"landed {str(value.get('commit'))[:COMMIT_CHARACTERS]} on {value.get('branch')}", "state.ok"
        case effects.ROLLBACK:
            yield f"its work was taken back: {args.get('why')}", "state.denied"
        case _:
            return


def _worked(value: Mapping[str, Any]) -> Iterator[Segment]:
    """How the agent ended; whether it is right is for the checks to say."""
    spent = f"{money(value.get('cost_usd'))}, {span(value.get('seconds'))}"
    said = " ".join(str(value.get("said") or "without a word").split())[:WORDS_CHARACTERS]
    match value.get("ending"):
        case effects.LIMIT:
            until = value.get("resets_at")
            when = f" until {moment(datetime.fromisoformat(until).timestamp())}" if isinstance(until, str) else ""
            yield f"the account's limit is used up{when} ({spent})", "question"
        case effects.TRANSIENT:
            yield f"the endpoint has no room at the moment: {said}", "question"
        case effects.UNUSABLE:
            yield f"the agent cannot be used: {said}", "state.error"
        case effects.CRASHED:
            yield f"the agent died: {said} ({spent})", "state.error"
        case effects.QUESTION:
            yield f"the agent asks: {value.get('question') or said} ({spent})", "question"
        case _:
            summary = " ".join(str(value.get("summary") or "–").split())[:WORDS_CHARACTERS]
            changed = "" if value.get("changed") else ", nothing was changed"
            yield f"{'says that it is done' if value.get('done') else 'ended'}: {summary} ({spent}{changed})", ""
    for denial in value.get("denials") or ():
        yield f"refused: {denial}", "state.denied"


def _checked(args: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[Segment]:
    """The task's own checks and the guard one by one; those of other tasks only where one fails."""
    if args.get("when") == "before":
        if value.get("passed"):
            yield f"{args.get('task')}: its own checks pass before any work", "state.ok"
        return
    results = value.get("results") or []
    others = [one for one in results if one.get("of") not in ("task", "guard") and one.get("exit_code") == 0]
    yield from (_check(one) for one in results if one not in others)
    if others:
        seconds = sum(float(one.get("seconds") or 0) for one in others)
        yield f"checks of other tasks passed: {len(others)} ({span(seconds)})", "state.ok"


def _check(one: Mapping[str, Any]) -> Segment:
    code, whose = one.get("exit_code"), one.get("of")
    ended = "passed" if code == 0 else "took too long" if code == TIMED_OUT else f"failed ({code})"
    of = "" if whose in ("task", "guard") else f" of {whose!r}"
    style = "state.ok" if code == 0 else "state.error"
    return f"check{of} {ended}: {one.get('command')} ({span(one.get('seconds'))})", style


def _committed(value: Mapping[str, Any]) -> Iterator[Segment]:
    if value.get("refused"):
        yield f"the commit was refused: {str(value['refused'])[:WORDS_CHARACTERS]}", "state.error"
    elif value.get("commit"):
        yield f"committed {str(value['commit'])[:COMMIT_CHARACTERS]}", "code"
    if value.get("folded"):
        yield f"{len(value['folded'])} commits of the agent's own went into it", "dim"
