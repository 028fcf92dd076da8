"""`bridle ask`: run an agent once and stream its output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.exit_codes import AGENT_UNUSABLE, FAILED, INTERRUPTED, SUCCESS
from bridle.cli.user_interface.options import auth_option, sandbox_option
from bridle.cli.user_interface.terminal import reader_is_gone, run_interruptible
from bridle.cli.user_interface.worktree_costs import count_worktrees
from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.run.finished import Finished
    from bridle.run.request import Limits, Request
    from bridle.run.runner import AgentRun
    from bridle.views.terminal.event_lines import EventPrinter
    from bridle.wire.events.events import Event

AGENTS = ("claude", "bridle-agent", "codex", "gemini", "opencode")
DEFAULT_TASK = "ask"
_SCHEMA_LIMIT_BYTES = 1024 * 1024  # a longer file is not a JSON schema


@click.command("ask", short_help="Run an agent once and stream its output.")
@click.argument("prompt", metavar="PROMPT|-")
@click.option("--agent", type=click.Choice(AGENTS), default="claude", show_default=True, help="Which agent to run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout at the end.")
@click.option("--timeout", "timeout", type=float, metavar="SECONDS", help="Limit of the whole run.  [default: 7200]")
@click.option("--idle-timeout", type=float, metavar="SECONDS", help="Limit without any output.  [default: 600]")
@click.option("--after-result", type=float, metavar="SECONDS", help="Time to exit after its result.  [default: 10]")
@click.option("--system-prompt", metavar="TEXT", help="Replace the agent's system prompt.")
@click.option("--allowed-tools", metavar="A,B,…", help="The tools it may use.  [default: those of the mode]")
@click.option(
    "--continue", "continue_session", is_flag=True, help="Continue the last session of this mode in this folder."
)
@click.option("--resume", metavar="ID", help="Continue this session.")
@click.option("--model", metavar="NAME", help="An alias (sonnet, opus, haiku) or a full name.")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much the model may think.")
@click.option("--json-schema", metavar="JSON|FILE", help="The schema of the answer.")
@click.option(
    "--cwd",
    type=click.Path(path_type=Path),
    default=".",
    help="Working folder of the agent.  [default: the current one]",
)
@click.option(
    "--mode",
    type=click.Choice(["planner", "coder", "summarizer"]),
    default="coder",
    show_default=True,
    help="The purpose of the run, which selects the tools.",
)
@click.option("--task", metavar="NAME", default=DEFAULT_TASK, show_default=True, help="A name for the log.")
@click.option("--no-hang-heuristic", is_flag=True, help="Do not detect unanswered questions and unfinished work.")
@auth_option
@sandbox_option
@click.option(
    "--permission",
    type=click.Choice(["default", "acceptEdits", "bypass"]),
    default="default",
    show_default=True,
    help="What it may do without asking. Use bypass only on a machine you can lose.",
)
@click.option("--allow-denials", is_flag=True, help="Do not fail the run because a permission was denied.")
def command(**options: Any) -> int:
    """Run an agent with PROMPT, show what it does, and report the outcome. `-` reads the prompt from stdin.

    The answer goes to stdout, everything else to stderr; a terminal shows all text of the agent as it comes.
    Every byte that the agent prints is kept in .ralph/logs/claude/ in its working folder.
    """
    from bridle.cli.user_interface import ask_report
    from bridle.ground.user_environment import user_environment
    from bridle.run.runner import AgentRun

    as_json = options["as_json"]
    request = _request(options)
    live = None if as_json else _live(request.agent)
    show = _show_nothing if live is None else live.show
    on_retry = _ignore_retry if live is None else live.start_again
    agent_run = AgentRun(request, environment=user_environment(os.environ), say=_say, on_retry=on_retry)
    finished = run_interruptible(_run(agent_run, _with_key_source(show, request.task)))
    if finished is None and agent_run.finished is None:
        raise KeyboardInterrupt
    shown = finished or agent_run.finished
    assert shown is not None  # noqa: S101  # one of the two, by the line above
    if live is not None:
        live.finish(None if finished is None or shown.outcome.failed else shown.outcome.final_text)
    if as_json:
        print(ask_report.as_json(shown))
    if finished is None:
        _say(ask_report.cost_line(shown))
        return INTERRUPTED
    for line in ask_report.final_lines(finished, request.limits):
        _say(line)
    if finished.unusable is not None:
        return AGENT_UNUSABLE
    return FAILED if finished.outcome.failed else SUCCESS


async def _run(agent_run: AgentRun, show: Callable[[Event], None]) -> Finished:
    """Run the agent, after what agents of the loop have spent in worktrees is counted."""
    await count_worktrees(agent_run.request.workspace, _say)
    return await agent_run.to_end(show)


def _request(options: dict[str, Any]) -> Request:
    from bridle.cli.user_interface.chosen_sandbox import sandbox_for
    from bridle.run.request import Auth, Mode, Permission, Reasoning, Request

    tools = options["allowed_tools"]
    reasoning = options["reasoning"]
    return Request(
        prompt=_prompt_on_stdin() if options["prompt"] == "-" else options["prompt"],
        cwd=options["cwd"].absolute(),
        agent=options["agent"],
        mode=Mode(options["mode"]),
        task=options["task"],
        system_prompt=options["system_prompt"],
        allowed_tools=None if tools is None else _tools(tools),
        continue_session=options["continue_session"],
        resume=options["resume"],
        model=options["model"],
        reasoning=None if reasoning is None else Reasoning(reasoning),
        json_schema=_schema(options["json_schema"]),
        auth=Auth(options["auth"] or Auth.AUTO),
        permission=Permission(options["permission"]),
        limits=_limits(options),
        hang_heuristic=not options["no_hang_heuristic"],
        denials_fail=not options["allow_denials"],
        sandbox=sandbox_for(options["cwd"], options["sandbox"], _say),
    )


def _prompt_on_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the prompt from standard input: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt on standard input is not UTF-8: {error}", remedy="Convert it first.") from error


def _tools(text: str) -> tuple[str, ...]:
    """Split a list of names; a comma in parentheses belongs to a pattern, as in `Bash(git log:*,-n)`."""
    import re

    return tuple(filter(None, (name.strip() for name in re.split(r",(?![^()]*\))", text))))


def _limits(options: dict[str, Any]) -> Limits:
    from bridle.run.request import AFTER_RESULT_SECONDS, IDLE_SECONDS, RUN_SECONDS, TOOL_IDLE_SECONDS, Limits

    for name in ("timeout", "idle_timeout", "after_result"):
        value = options[name]
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"--{name.replace('_', '-')} must be a number of seconds above 0, got {value}")
    idle = options["idle_timeout"]
    return Limits(
        run_seconds=options["timeout"] or RUN_SECONDS,
        idle_seconds=idle or IDLE_SECONDS,
        tool_idle_seconds=max(idle, TOOL_IDLE_SECONDS) if idle else TOOL_IDLE_SECONDS,
        after_result_seconds=options["after_result"] or AFTER_RESULT_SECONDS,
    )


def _schema(text_or_path: str | None) -> dict[str, Any] | None:
    """Return a JSON schema, from the command line or from a file."""
    if text_or_path is None:
        return None
    text = text_or_path
    if not text.lstrip().startswith("{"):
        try:
            text = Path(text_or_path).read_text("utf-8")[:_SCHEMA_LIMIT_BYTES]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--json-schema must be JSON or a readable file, got {text_or_path}: {error}") from error
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError("--json-schema must be a JSON object")
    return schema


def _say(line: str) -> None:
    from bridle.views.terminal.escape_controls import escape_line

    print(f"bridle: {escape_line(line)}", file=sys.stderr, flush=True)


def _show_nothing(_event: object) -> None:
    """Show no event: with --json, stdout is for the document."""


def _ignore_retry() -> None:
    """Do nothing: the document is that of the last attempt."""


def _with_key_source(show: Callable[[Event], None], task: str) -> Callable[[Event], None]:
    """Return a printer of events that also prints where the API key comes from, by the first init.

    A task that the user named follows in parentheses.
    """
    from bridle.wire.events.system import Init

    is_first = True

    def show_event(event: Event) -> None:
        nonlocal is_first
        if is_first and isinstance(event, Init):
            is_first = False
            if event.api_key_source is not None:
                subject = "" if task == DEFAULT_TASK or not task.strip() else f" ({task})"
                _say(f"apiKeySource={event.api_key_source}{subject}")
        show(event)

    return show_event


def _live(agent: str) -> EventPrinter:
    from bridle.run.budget import cost_of
    from bridle.views.terminal.event_lines import EventPrinter
    from bridle.wire.mask import Mask, secret_values

    return EventPrinter(
        answer=lambda text: print(text, flush=True),
        status=lambda text: print(text, file=sys.stderr, flush=True),
        mask=Mask(secret_values(os.environ)),
        price=lambda record: cost_of(record, agent).usd,
        on_hold=None if sys.stdout.isatty() else _check_reader,
    )


def _check_reader() -> None:
    """Raise BrokenPipeError if the reader of stdout is gone: the agent would work for nothing."""
    if reader_is_gone():
        raise BrokenPipeError
