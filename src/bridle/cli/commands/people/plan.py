"""`bridle plan`: an agent reads, asks its questions in the terminal, and writes a plan."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.loop.plan.model import Plan
    from bridle.loop.settings.model import Settings

NAME = "PLAN.md"


@click.command("plan", short_help="Let an agent read, ask its questions and write PLAN.md.")
@click.argument("goal", metavar='"GOAL"|-')
@click.option("--out", metavar="FILE", default=NAME, show_default=True, help="Where the plan goes; it must be new.")
@click.option("--agent", help="Who plans; claude and bridle-agent can.  [default: that of the settings]")
@click.option("--model", help="The model.  [default: sonnet]")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much it thinks.")
@click.option("--no-questions", is_flag=True, help="It decides what is open, and writes down what it assumed.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *,
    goal: str,
    out: str,
    agent: str | None,
    model: str | None,
    reasoning: str | None,
    no_questions: bool,
    no_hooks: bool,
    as_json: bool,
) -> int:
    """Let an agent make a plan for GOAL: it reads the repository, asks what it must know, and PLAN.md is written.

    Its questions are asked here, one by one, and answered in the same conversation. `-` reads the goal from standard
    input, and then nothing can be asked.
    """
    from bridle.cli.people.plan_dialogue import Planner
    from bridle.cli.people.terminal import say
    from bridle.ground.home import bridle_home
    from bridle.loop.settings.bridle_toml import load_settings

    path = Path.cwd() / out
    if os.path.lexists(path):
        raise UsageError(f"{path} is there already", remedy="Move it away, or name another file with --out.")
    wanted = _goal(goal)
    given = {"agent": agent, "model": model, "reasoning": reasoning}
    settings = load_settings(Path.cwd(), bridle_home(os.environ), given)
    planner = Planner(wanted, path, settings, _agent(settings), may_ask=not no_questions and goal != "-")
    code = planner.plan()
    if code == 0 and planner.made is not None:
        _write(path, planner.text)
        _tell_hooks(path, wanted, planner.made, enabled=not no_hooks)
        for line in _told(path, planner.made):
            say(line)
    if planner.cost_usd:
        say(f"it cost {planner.cost_usd:.4f} USD")
    if as_json:
        click.echo(json.dumps(planner.document(), ensure_ascii=False))
    return code


def _goal(given: str) -> str:
    if given != "-":
        text = given
    else:
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the goal cannot be read from standard input: {error}") from error
    if not text.strip():
        raise UsageError("the goal is empty", remedy='Say what is wanted: bridle plan "…"')
    return text


def _agent(settings: Settings) -> str:
    """The first of the list that can be told which form its answer must have."""
    from bridle.run.command import CLAUDE_LIKE

    for name in settings.agents:
        if name in CLAUDE_LIKE:
            return name
    known = " or ".join(CLAUDE_LIKE)
    raise UsageError(f"{settings.agents[0]} cannot plan: its answer has no form", remedy=f"Use --agent {known}.")


def _write(path: Path, text: str) -> None:
    """Write the plan; one that somebody has made meanwhile stays."""
    from bridle.ground import disk
    from bridle.wire.mask import Mask, secret_values

    disk.write_new(path, Mask(secret_values(os.environ)).apply(text).encode("utf-8"), mode=0o644)


def _tell_hooks(path: Path, goal: str, plan: Plan, *, enabled: bool) -> None:
    import asyncio

    from bridle.cli.people.terminal import say, top_of
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.loop.plan.drafting import POST_PLANNING

    payload: Mapping[str, object] = {
        "planPath": str(path),
        "goal": goal,
        "title": plan.title,
        "tasks": [task.title for task in plan.tasks],
    }
    fired = asyncio.run(Hooks(top_of(path.parent), os.environ, enabled=enabled).fire(POST_PLANNING, payload))
    for fault in fired.faults:
        say(fault)
    if fired.untrusted is not None:
        say(f"the hooks in {fired.untrusted}/.a5c/hooks did not run: `bridle doctor --trust` lets them")


def _told(path: Path, plan: Plan) -> list[str]:
    lines = [f"wrote {path}: {plan.title}"]
    lines += [f"  {task.title}" + ("" if task.checks else "  (no check of its own)") for task in plan.tasks]
    lines += list(plan.warnings)
    return [*lines, f"read it, change what you like, then: bridle run {path.name}"]
