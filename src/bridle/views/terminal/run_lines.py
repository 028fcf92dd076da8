"""A running loop line by line: for a pipe, for a log, and above the live view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.loop import effect_results, effects
from bridle.loop.effect_results import (
    TIMED_OUT,
    CheckResult,
    ChecksResult,
    CommitResult,
    LandResult,
    MergeResult,
    PrepareCopyResult,
    PrepareResult,
    ProtectResult,
    Result,
    RollbackResult,
    WorkResult,
)
from bridle.loop.effects import Arguments, CheckArgs, PrepareCopyArgs, RollbackArgs, SummarizeArgs, WorkArgs, title_of
from bridle.loop.process.receipt import Wait
from bridle.loop.progress_events import AgentPrinted, EffectFinished, EffectStarted, Progress
from bridle.views.format_amounts import format_count, format_duration, format_time, format_usd
from bridle.views.terminal.escape_controls import escape_line
from bridle.views.terminal.event_lines import format_retry
from bridle.views.terminal.receipt import UNKNOWN_COST, describe_folded, failure_lines, red_guard
from bridle.views.terminal.styled_lines import Line, Segment, styled_line
from bridle.wire.events.blocks import Text, ToolUse
from bridle.wire.events.events import Assistant, Event
from bridle.wire.events.system import ApiRetry
from bridle.wire.mask import Mask
from bridle.wire.record.record import MAIN
from bridle.wire.transcript.call_summary import summarize_call
from bridle.wire.transcript.clip import Clip

# Of an agent's text or question: what fits into two lines of a wide terminal.
TEXT_CHARACTERS = 200
# Of a commit's id: enough for git to know it.
COMMIT_CHARACTERS = 10
_INDENT = "      "
_OWN = (effects.OF_TASK, effects.OF_GUARD)

Write = Callable[[Line], None]


class RunPrinter:
    """A printer of progress events, with secrets masked and control characters escaped."""

    def __init__(
        self,
        titles: Sequence[str],
        *folders: Path,
        agents: Sequence[str],
        mask: Mask,
        write: Write,
        shows_tools: bool = True,
        is_parallel: bool = False,
    ) -> None:
        self._numbers = {title: number for number, title in enumerate(titles, start=1)}
        self._agents = set(agents)
        """The agents that have not proved unavailable."""
        self._agent_lines = AgentLines(*folders, mask=mask)
        self._is_parallel = is_parallel
        self._mask = mask
        self._write = write
        self._shows_tools = shows_tools
        self._has_warned = False
        """Whether it has printed that the cost limit cannot act."""

    def show_tools(self, shows: bool) -> None:  # noqa: FBT001  # a switch
        """Print the agents' texts and tool calls from now on, or leave them out."""
        self._shows_tools = shows

    def print(self, progress: Progress) -> None:
        """Print the lines of one progress event, if any."""
        for text, style in self._lines(progress):
            self._write(styled_line(escape_line(self._mask.apply(text)), style))

    def _lines(self, progress: Progress) -> Iterator[Segment]:
        match progress:
            case EffectStarted(WorkArgs() as args):
                yield f"{self._number(args.task)} {args.task}: iteration {args.iteration} ({args.agent})", "summary"
            case EffectStarted(SummarizeArgs()):
                yield "summarizing the progress so far", "dim"
            case AgentPrinted(task, event) if self._shows_tools:
                yield from ((f"{self._prefix(task)}{text}", "dim") for text in self._agent_lines.from_event(event))
            case EffectFinished(WorkArgs() as args, WorkResult(ending=effect_results.UNUSABLE) as result):
                self._agents.discard(args.agent)
                # Without another agent the run ends, and its receipt begins with the reason.
                reason = f": {_message(result)}" if self._agents else ""
                yield f"{self._prefix(args.task)}{args.agent} is unavailable{reason}", "state.error"
            case EffectFinished(args, result):
                prefix = self._prefix(title_of(args))
                yield from ((f"{prefix}{text}", style) for text, style in _finished(args, result))
                if isinstance(result, WorkResult) and result.cost_usd is None and not self._has_warned:
                    self._has_warned = True
                    yield f"{prefix}{UNKNOWN_COST}", "state.denied"
            case _:
                return

    def _number(self, task: str) -> str:
        return f"[{self._numbers.get(task, 0)}/{len(self._numbers)}]"

    def _prefix(self, task: str | None) -> str:
        """Return the task's number if several tasks run at once, else the indent below the task's line."""
        return f"{self._number(task)}   " if task is not None and self._is_parallel else _INDENT


def format_wait(wait: Wait) -> str:
    """Format a wait after which the run continues automatically."""
    return f"waiting until {format_time(wait.until_seconds)} ({wait.reason}), then continues automatically"


class AgentLines:
    """The text blocks, tool calls and repeated requests of an agent, one line each."""

    def __init__(self, *folders: Path, mask: Mask) -> None:
        # Longest first: a worktree may be inside its repository.
        self._prefixes = sorted((f"{folder}/" for folder in folders), key=len, reverse=True)
        self._clip = Clip(mask)

    def from_event(self, event: Event) -> Iterator[str]:
        """Yield the lines of one event; events of sub-agents are left to `bridle show`."""
        if isinstance(event, ApiRetry):
            yield self._clip.line(format_retry(event), TEXT_CHARACTERS)
        if not isinstance(event, Assistant) or event.parent_tool_use_id is not MAIN:
            return
        for block in event.message.blocks:
            if isinstance(block, ToolUse) and block.name != STRUCTURED_OUTPUT:
                yield f"> {self.format_call(block)}"
            elif isinstance(block, Text) and block.text.strip():
                yield self._clip.line(block.text, TEXT_CHARACTERS)

    def format_call(self, block: ToolUse) -> str:
        """Format a tool call, with paths relative to the working copy."""
        summary = summarize_call(block, self._clip)
        for prefix in self._prefixes:
            summary = summary.replace(prefix, "")
        return f"{block.name} {summary}".rstrip()


# The call by which an agent answers in a schema: its fields are shown when the agent has finished.
STRUCTURED_OUTPUT = "StructuredOutput"


def _finished(args: Arguments[Any], result: Result) -> Iterator[Segment]:
    match result:
        case PrepareResult():
            yield f"on the branch {result.branch}", "dim"
            yield from _setup_failed(result.setup)
        case WorkResult():
            yield from _worked(result)
        case ChecksResult():
            yield from _checked(args, result)
        case ProtectResult():
            for undone in result.undone:
                yield f"restored {undone.path}: {undone.what}", "state.denied"
            if result.kept:
                yield f"kept as {result.kept}", "dim"
            for report in result.reported:
                yield f"note: {report.path}: {report.what}", "state.denied"
        case CommitResult():
            yield from _committed(result)
        case MergeResult() if result.conflicts:
            yield f"merge conflict with other tasks: {', '.join(result.conflicts)}", "state.denied"
        case PrepareCopyResult() if result.setup is not None:
            yield from _setup_failed(result.setup)
        case PrepareCopyResult() if result.conflicts and isinstance(args, PrepareCopyArgs):
            yield f"restarting from the merged work; the earlier work is kept as {args.kept}", "dim"
        case LandResult() if result.newer is None:
            yield f"merged {result.commit[:COMMIT_CHARACTERS]} into {result.branch}", "state.ok"
        case RollbackResult() if isinstance(args, RollbackArgs):
            yield f"reverted: {args.why}", "state.denied"
            if result.kept:
                yield f"kept as refs/bridle/snapshots/{result.kept}", "dim"
        case _:
            return


def _setup_failed(setup: CheckResult | None) -> Iterator[Segment]:
    """Yield the setup command that failed, with the part of its output that matters."""
    if setup is not None:
        end = "timed out" if setup.exit_code == TIMED_OUT else f"failed ({setup.exit_code})"
        yield f"setup {end}: {setup.command} ({format_duration(setup.seconds)})", "state.error"
        yield from ((f"  {line}", "dim") for line in failure_lines(setup.excerpt, setup.output, setup.log))


def _worked(result: WorkResult) -> Iterator[Segment]:
    """Yield how the agent ended; the checks decide whether its work is right."""
    cost = format_usd(result.cost_usd, known=result.known_cost_usd)
    wasted = f", {format_usd(result.wasted_usd)} of it for earlier attempts" if result.wasted_usd else ""
    spent = f"{'cost unknown' if cost == 'unknown' else cost}{wasted}, {format_duration(result.seconds)}"
    message = _message(result)
    match result.ending:
        case effect_results.LIMIT:
            until = result.limit_resets_at
            reset = "" if until is None else f", resets {format_time(datetime.fromisoformat(until).timestamp())}"
            yield f"usage limit reached{reset} ({spent})", "question"
        case effect_results.TRANSIENT:
            yield f"temporary API error: {message}", "question"
        case effect_results.BUDGET:
            yield f"not started: {message}", "question"
        case effect_results.CRASHED:
            yield f"agent crashed: {message} ({spent})", "state.error"
        case effect_results.QUESTION:
            question = result.question or result.message or "the agent waits for an answer"
            yield f"question: {' '.join(question.split())[:TEXT_CHARACTERS]} ({spent})", "question"
        case _:
            yield from _ended(result, spent if result.changed else f"{spent}, no changes")
    for denial in result.denials:
        yield f"denied: {denial}", "state.denied"


def _ended(result: WorkResult, spent: str) -> Iterator[Segment]:
    """Yield how an agent ended that ended by itself, and what was wrong with that."""
    if result.failed:
        yield f"agent failed: {_message(result)} ({spent})", "state.error"
        return
    summary = " ".join((result.summary or "–").split())[:TEXT_CHARACTERS]
    yield f"{'reports done' if result.done else 'finished'}: {summary} ({spent})", ""
    if result.message:
        yield f"note: {_message(result)}", "state.denied"


def _message(result: WorkResult) -> str:
    return " ".join((result.message or "it exited without a result").split())[:TEXT_CHARACTERS]


def _checked(args: Arguments[Any], result: ChecksResult) -> Iterator[Segment]:
    """Yield each of the task's own checks and the guard; those of other tasks only where one fails."""
    if isinstance(args, CheckArgs) and args.when == effects.BASELINE:
        yield from _baseline(result)
        return
    if isinstance(args, CheckArgs) and args.when == effects.BEFORE_WORK:
        if result.passed:
            yield f"{args.task}: checks already pass before any work", "state.ok"
        return
    others = [check for check in result.results if check.owner not in _OWN and check.passed]
    for check in result.results:
        if check not in others:
            yield _check(check)
        if not check.passed:
            yield from ((f"  {line}", "dim") for line in failure_lines(check.excerpt, check.output, check.log))
    if others:
        seconds = sum(check.seconds for check in others)
        yield f"checks of other tasks passed: {len(others)} ({format_duration(seconds)})", "state.ok"


def _baseline(result: ChecksResult) -> Iterator[Segment]:
    """Yield what passes and fails before any work; a guard that fails with its output and what to do."""
    passed = sum(check.passed for check in result.results)
    verb = "passes" if len(result.results) == 1 else "pass"
    yield f"before any work {passed} of {format_count(len(result.results), 'check')} {verb}", "dim"
    for check in result.results:
        text, style = _check(check)
        is_guard = check.owner == effects.OF_GUARD
        yield f"  {text}", style if is_guard or check.passed else "dim"
        if is_guard and not check.passed:
            yield from ((f"    {line}", "dim") for line in failure_lines(check.excerpt, check.output, check.log))
            yield f"    {red_guard(check.exit_code)}", "state.denied"


def _check(check: CheckResult) -> Segment:
    code = check.exit_code
    end = "passed" if code == 0 else "timed out" if code == TIMED_OUT else f"failed ({code})"
    of = "" if check.owner in _OWN else f" of {check.owner!r}"
    style = "state.ok" if code == 0 else "state.error"
    return f"check{of} {end}: {check.command} ({format_duration(check.seconds)})", style


def _committed(result: CommitResult) -> Iterator[Segment]:
    if result.refused:
        reason, *output = result.refused.splitlines()
        yield f"commit rejected: {' '.join(reason.split())[:TEXT_CHARACTERS]}", "state.error"
        excerpt, log = ("", "") if result.hook is None else (result.hook.excerpt, result.hook.log)
        yield from ((f"  {line}", "dim") for line in failure_lines(excerpt, "\n".join(output), log))
    elif result.commit:
        yield f"committed {result.commit[:COMMIT_CHARACTERS]}", "code"
    if result.folded:
        yield describe_folded(result.folded), "dim"
