"""`bridle run`: the main job, over a plan's tasks until each is verified done."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.errors import AgentError

if TYPE_CHECKING:
    from bridle.loop.control.runs import RunRequest


def limit_options(function: Any) -> Any:
    """The bounds that `run` and `resume` both take."""
    for option in (
        click.option("--tries", type=int, help="Tries for each task.  [default: 5]"),
        click.option("--max-time", metavar="DURATION", help="The whole run: seconds, or 90s, 15m, 8h.  [default: 8h]"),
        click.option("--max-iterations", type=int, help="Agent runs in all.  [default: 50]"),
        click.option("--max-cost", type=float, metavar="USD", help="What the agents may cost.  [default: 20]"),
    ):
        function = option(function)
    return function


@click.command("run", short_help="The loop over a plan's tasks until each is verified done.")
@click.argument("plan", required=False, metavar='[PLAN.md|prd.json|"goal"]')
@click.option("--agent", multiple=True, help="Who does the work; several: the next one at a usage limit.")
@click.option("--model", help="The model.  [default: sonnet]")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much it thinks.")
@limit_options
@click.option("--parallel", type=int, help="Tasks at once, each in a worktree.  [default: 1]")
@click.option("--worktree", is_flag=True, default=None, help="Work in a worktree; yours stays as it is.")
@click.option("--red-first", is_flag=True, default=None, help="A task's own check must fail before any work.")
@click.option("--breakpoints", type=click.Choice(["ask", "approve", "reject"]), help="Who answers breakpoints.")
@click.option("--allow-dirty", is_flag=True, default=None, help="Begin with uncommitted changes; they are kept.")
@click.option("--tick", is_flag=True, default=None, help="Tick finished tasks in the plan's file.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--dry-run", is_flag=True, help="Show the first prompt and command; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, plan: str | None, dry_run: bool, no_hooks: bool, as_json: bool, **flags: Any) -> int:
    """Work on a plan, task by task, a fresh agent each time, until every task is verified done or a limit is reached.

    Only checks that Bridle itself ran make a task done. One commit for each, on a branch of the run's own.

    With --worktree the run works in .ralph/worktrees, after the plan's Setup, and your working copy is not touched.
    With --parallel N up to N tasks are worked on at once, each in such a worktree; what is done is merged one at a
    time, through the checks, and what conflicts is worked on again.
    """
    from bridle.cli.people import loop_runs
    from bridle.loop.control import runs
    from bridle.loop.plan.read_plan import read_plan
    from bridle.loop.settings.bridle_toml import load_settings

    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    if "agent" in given:
        given["agent"] = [name for one in given["agent"] for name in one.split(",")]
    settings = load_settings(Path.cwd(), loop_runs.home(), given)
    wanted = read_plan(plan, Path.cwd(), settings)
    for warning in wanted.warnings:
        loop_runs.say(str(warning))

    async def check_create_drive() -> int:
        environment = dict(os.environ)
        request = await runs.check_start(Path.cwd(), wanted, settings, environment)
        if dry_run:
            return _show(request, as_json=as_json)
        run = await loop_runs.begin(request, environment)
        return await loop_runs.drive(run, as_json=as_json, with_hooks=not no_hooks)

    return asyncio.run(check_create_drive())


def _show(beginning: RunRequest, *, as_json: bool) -> int:
    """What the first iteration would be: its prompt and its command. Nothing is written."""
    from bridle.loop.performers.work import request_of
    from bridle.loop.process.decisions import first_task
    from bridle.loop.working_copy.run_context import run_context
    from bridle.run.command import build

    environment = dict(os.environ)
    place = run_context(
        beginning.repository,
        environment=environment,
        settings=beginning.settings,
        plan=beginning.plan,
        base=beginning.base,
        run_folder=beginning.repository / ".a5c/runs/dry-run",
    )
    task = first_task(beginning.plan)
    packed, request = request_of(task, {"task": task.title, "iteration": 1}, place)
    command_line = build(request, _program(request.agent, environment), environment).argv
    if as_json:
        document = {
            "task": task.title,
            "prompt": packed.text,
            "cut": list(packed.cut),
            "agent": request.agent,
            "command": list(command_line),
            "limits": beginning.settings.limits.as_json(),
        }
        click.echo(json.dumps(document, ensure_ascii=False, default=str))
        return 0
    click.echo(packed.text)
    click.echo(f"The command, which is given this prompt:\n\n{shlex.join(command_line)}")
    click.echo(f"nothing was begun; a run has {beginning.settings.limits.words()}", err=True)
    return 0


def _program(agent: str, environment: dict[str, str]) -> str:
    """Where the agent is; its name where it is not there yet, since nothing is started."""
    from bridle.run.locate import locate

    try:
        return locate(agent, environment).path
    except AgentError as error:
        click.echo(f"bridle: {error.message}; {error.remedy}", err=True)
        return agent
