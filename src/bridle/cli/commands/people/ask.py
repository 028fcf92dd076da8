"""`bridle ask`: one agent run through the runner, streamed for a person."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.run.request import Limits, Request
    from bridle.run.runner import Finished
    from bridle.views.terminal.event_lines import EventPrinter

FAILED = 1
AGENT_UNUSABLE = 5
INTERRUPTED = 130
AGENTS = ("claude", "bridle-agent", "codex", "gemini", "opencode")
_SCHEMA_LIMIT_BYTES = 1024 * 1024  # a JSON schema that is longer than this is another file given by mistake


@click.command("ask", short_help="One agent run, streamed for a person.")
@click.argument("prompt", metavar="PROMPT|-")
@click.option("--agent", type=click.Choice(AGENTS), default="claude", show_default=True, help="Which agent to run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout when it has ended.")
@click.option("--timeout", "timeout", type=float, metavar="SECONDS", help="For the whole run.  [default: 7200]")
@click.option("--idle-timeout", type=float, metavar="SECONDS", help="Without a sign of life.  [default: 600]")
@click.option("--after-result", type=float, metavar="SECONDS", help="Alive after its result.  [default: 10]")
@click.option("--system-prompt", metavar="TEXT", help="In place of the agent's own.")
@click.option("--allowed-tools", metavar="A,B,…", help="The tools it may use.  [default: those of the mode]")
@click.option("--continue", "continue_session", is_flag=True, help="Go on in the last session of this folder.")
@click.option("--resume", metavar="ID", help="Go on in this session.")
@click.option("--model", metavar="NAME", help="An alias (sonnet, opus, haiku) or a full name.")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much thinking is allowed.")
@click.option("--json-schema", metavar="JSON|FILE", help="The form that the answer must have.")
@click.option("--cwd", type=click.Path(path_type=Path), default=".", help="Where it works.  [default: here]")
@click.option(
    "--mode",
    type=click.Choice(["planner", "coder", "summarizer"]),
    default="coder",
    show_default=True,
    help="What it is for, which decides its tools.",
)
@click.option("--task", metavar="NAME", default="ask", show_default=True, help="A name for the log.")
@click.option("--no-hang-heuristic", is_flag=True, help="Do not look for unanswered questions and unfinished work.")
@click.option(
    "--auth",
    type=click.Choice(["auto", "login", "key"]),
    default="auto",
    show_default=True,
    help="Who pays: the login, or the ANTHROPIC_API_KEY in the environment.",
)
@click.option(
    "--permission",
    type=click.Choice(["default", "acceptEdits", "bypass"]),
    default="default",
    show_default=True,
    help="What it may do unasked. bypass is for a machine that may be lost.",
)
@click.option("--allow-denials", is_flag=True, help="A refused permission does not fail the run.")
def command(**options: Any) -> int:
    """Give PROMPT to an agent, show what it does, and say how it ended. `-` reads the prompt from stdin.

    The answer goes to stdout, everything else to stderr. Every byte of the agent is kept in
    .ralph/logs/claude/ below its working folder.
    """
    import asyncio

    from bridle.cli.people import ask_report
    from bridle.run.runner import AgentRun

    as_json = options["as_json"]
    request = _request(options)
    live = None if as_json else _live(request.agent)
    show = _show_nothing if live is None else live.show
    agent_run = AgentRun(request, environment=dict(os.environ), say=_say)
    try:
        finished = asyncio.run(_until_told_to_end(agent_run.to_end(show)))
    except (asyncio.CancelledError, KeyboardInterrupt):
        if as_json and agent_run.finished is not None:
            print(ask_report.as_json(agent_run.finished))
        raise KeyboardInterrupt from None
    if live is not None and not live.has_answered and not finished.outcome.failed:
        live.answer(finished.outcome.final_text)  # some answers stand in the result alone
    if as_json:
        print(ask_report.as_json(finished))
    for line in ask_report.last_words(finished, request.limits):
        _say(line)
    if finished.unusable is not None:
        return AGENT_UNUSABLE
    return FAILED if finished.outcome.failed else 0


async def _until_told_to_end(work: Any) -> Finished:
    """Let SIGTERM and a closed terminal end the agent as Ctrl-C does: cleanly, with its log kept."""
    import asyncio
    import signal

    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    finished: Finished = await task
    return finished


def _request(options: dict[str, Any]) -> Request:
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
        auth=Auth(options["auth"]),
        permission=Permission(options["permission"]),
        limits=_limits(options),
        hang_heuristic=not options["no_hang_heuristic"],
        denials_fail=not options["allow_denials"],
    )


def _prompt_on_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except OSError as error:
        raise UsageError(f"the prompt cannot be read from standard input: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt on standard input is not UTF-8: {error}", remedy="convert it first") from error


def _tools(given: str) -> tuple[str, ...]:
    """The names in a list; a comma inside of parentheses belongs to a pattern, as in `Bash(git log:*,-n)`."""
    import re

    return tuple(filter(None, (name.strip() for name in re.split(r",(?![^()]*\))", given))))


def _limits(options: dict[str, Any]) -> Limits:
    from bridle.run.request import AFTER_RESULT_SECONDS, IDLE_SECONDS, RUN_SECONDS, TOOL_IDLE_SECONDS, Limits

    for name in ("timeout", "idle_timeout", "after_result"):
        value = options[name]
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"--{name.replace('_', '-')} {value} is not a number of seconds above 0")
    idle = options["idle_timeout"]
    return Limits(
        run_seconds=options["timeout"] or RUN_SECONDS,
        idle_seconds=idle or IDLE_SECONDS,
        tool_idle_seconds=max(idle, TOOL_IDLE_SECONDS) if idle else TOOL_IDLE_SECONDS,
        after_result_seconds=options["after_result"] or AFTER_RESULT_SECONDS,
    )


def _schema(given: str | None) -> dict[str, Any] | None:
    """A JSON schema, written out or in a file."""
    if given is None:
        return None
    text = given
    if not given.lstrip().startswith("{"):
        try:
            text = Path(given).read_text("utf-8")[:_SCHEMA_LIMIT_BYTES]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--json-schema {given} is neither JSON nor a file that can be read: {error}") from error
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError("--json-schema is not a JSON object")
    return schema


def _say(line: str) -> None:
    from bridle.views.terminal.escape_controls import escape_unprintable

    print(f"bridle: {escape_unprintable(line)}", file=sys.stderr, flush=True)


def _show_nothing(_event: object) -> None:
    """With --json, stdout belongs to the document."""


def _live(agent: str) -> EventPrinter:
    import io

    from bridle.run.budget import cost_of
    from bridle.views.terminal.event_lines import EventPrinter
    from bridle.wire.mask import Mask, secret_values

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a narrow locale must not end the run at an accent
    return EventPrinter(
        answer=lambda text: print(text, flush=True),
        status=lambda text: print(text, file=sys.stderr, flush=True),
        mask=Mask(secret_values(os.environ)),
        price=lambda record: cost_of(record, agent).usd,
    )
