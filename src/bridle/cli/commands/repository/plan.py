"""`bridle plan`: an agent reads the repository, asks its questions, and a plan is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface.options import auth_option, sandbox_option
from bridle.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.loop.plan.model import Plan
    from bridle.loop.settings.model import Settings

NAME = "PLAN.md"


@click.command("plan", short_help="Let an agent read, ask you questions and write PLAN.md.")
@click.argument("goal", metavar='"GOAL"|-')
@click.option("--out", metavar="FILE", default=NAME, show_default=True, help="The file to write; it must not exist.")
@click.option("--agent", help="The agent: claude or bridle-agent.  [default: from the settings]")
@click.option("--model", help="The model.  [default: sonnet]")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much the model may think.")
@auth_option
@sandbox_option
@click.option("--no-questions", is_flag=True, help="The agent decides open questions and writes down its assumptions.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *,
    goal: str,
    out: str,
    agent: str | None,
    model: str | None,
    reasoning: str | None,
    auth: str | None,
    sandbox: str | None,
    no_questions: bool,
    no_hooks: bool,
    as_json: bool,
) -> int:
    """Let an agent plan GOAL: it reads the repository and asks you questions; then PLAN.md is written.

    You answer its questions here, one by one, in one conversation. `-` reads the goal from standard input; then the
    agent cannot ask.
    """
    from bridle.cli.user_interface.chosen_sandbox import sandbox_for
    from bridle.cli.user_interface.plan_dialogue import Planner
    from bridle.cli.user_interface.terminal import print_document, say
    from bridle.ground.home import bridle_home
    from bridle.loop.settings.bridle_toml import load_settings
    from bridle.views.format_amounts import format_usd

    path = Path.cwd() / out
    _check_path(path)
    goal_text = _goal(goal)
    flags = {"agent": agent, "model": model, "reasoning": reasoning, "auth": auth}
    settings = load_settings(Path.cwd(), bridle_home(os.environ), flags)
    if settings.ignored:
        say(settings.ignored)
    chosen = sandbox_for(Path.cwd(), sandbox, say)
    may_ask = not no_questions and goal != "-"
    planner = Planner(goal_text, path, settings, _agent(settings), may_ask=may_ask, sandbox=chosen)
    code = planner.plan()
    if code == 0 and planner.result is not None:
        _write(path, planner.text)
        _fire_hooks(path, goal_text, planner.result, enabled=not no_hooks)
        for line in _summary(path, out, planner.result):
            say(line)
    if planner.cost_usd != 0:
        say(f"cost: {format_usd(planner.cost_usd, known=planner.known_cost_usd)}")
    if as_json:
        print_document(planner.document())
    return code


def _check_path(path: Path) -> None:
    """Raise where the plan could not be written, before an agent is paid for it."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists", remedy="Move it, or name another file with --out.")
    if path.suffix.lower() == ".json":
        raise UsageError(f"--out must name a Markdown file, got {path.name}", remedy="Use a name that ends in .md.")
    from bridle.ground import disk

    os.close(disk.create_exclusive(path))
    path.unlink()


def _goal(argument: str) -> str:
    if argument != "-":
        text = argument
    else:
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the goal from standard input: {error}") from error
    if not text.strip():
        raise UsageError("the goal is empty", remedy='Describe it: `bridle plan "…"`.')
    return text


def _agent(settings: Settings) -> str:
    """Return the first agent of the list that supports structured output."""
    from bridle.run.command import CLAUDE_LIKE

    for name in settings.agents:
        if name in CLAUDE_LIKE:
            return name
    known = " or ".join(CLAUDE_LIKE)
    raise UsageError(f"{settings.agents[0]} cannot plan: it has no structured output", remedy=f"Use --agent {known}.")


def _write(path: Path, text: str) -> None:
    """Write the plan; a file that appeared since the start is not overwritten."""
    from bridle.ground import disk
    from bridle.wire.mask import Mask, secret_values

    disk.write_new(path, Mask(secret_values(os.environ)).apply(text).encode("utf-8"), mode=0o644)


def _fire_hooks(path: Path, goal: str, plan: Plan, *, enabled: bool) -> None:
    import asyncio

    from bridle.cli.user_interface.terminal import say, top_of
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.loop.plan.drafting import POST_PLANNING

    payload: Mapping[str, object] = {
        "planPath": str(path),
        "goal": goal,
        "title": plan.title,
        "tasks": [task.title for task in plan.tasks],
    }
    fired = asyncio.run(Hooks(top_of(path.parent), os.environ, enabled=enabled).fire(POST_PLANNING, payload))
    for warning in fired.warnings:
        say(warning)


def _summary(path: Path, out: str, plan: Plan) -> list[str]:
    import shlex

    lines = [f"wrote {path}: {plan.title}"]
    lines += [f"  {task.title}" + ("" if task.checks else "  (no check of its own)") for task in plan.tasks]
    lines += list(plan.warnings)
    return [*lines, f"review it, then run: {shlex.join(['bridle', 'run', out])}"]
