"""`bridle demo`: run a plan on a sample repository, with no account and no network."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from bridle.cli.demo.demo_folder import DemoFolder
    from bridle.stage.server import Stage

# Delay of each scripted answer on a terminal: long enough to read a line.
DELAY_SECONDS = 0.4


@click.command("demo", short_help="Run a plan on a sample repository: no account, no network.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="A new or empty folder, or the folder of an interrupted demo.  [default: a temporary one]",
)
@click.option("--keep/--no-keep", default=True, show_default=True, help="Keep the folder afterwards.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, folder: Path | None, keep: bool, as_json: bool) -> int:
    """Watch Bridle work through a plan of four tasks in a small package whose tests fail.

    Only the model is not real: its answers come from a script on this machine. The agent, its edits, the tests that
    Bridle runs and the commits are real.
    """
    from bridle.cli.demo.demo_folder import choose_folder, create, find_unfinished, remove

    unfinished = find_unfinished(folder)
    if unfinished is not None:
        demo, run = unfinished
        click.echo(f"Continuing the demo in {demo.repository}\n", err=True)
    else:
        demo, run = asyncio.run(create(choose_folder(folder), os.environ)), None
    code = _run_demo(demo, run, as_json=as_json, keep=keep)
    if not keep:
        remove(demo.folder)
    return code


def _run_demo(demo: DemoFolder, run: Path | None, *, as_json: bool, keep: bool) -> int:
    """Run the plan against the stage, or continue its run, and print what to try next."""
    from bridle.cli.demo.demo_script import script
    from bridle.cli.user_interface import loop_runs
    from bridle.stage.script import load_script
    from bridle.stage.thread import running

    seconds = DELAY_SECONDS if sys.stderr.isatty() else 0.0
    again = f"{_bridle()} demo --folder {shlex.quote(str(demo.folder))}" if keep else f"{_bridle()} demo"
    with running(load_script(script(demo.repository, delay_seconds=seconds))) as stage:
        environment = demo.environment(stage.url, os.environ)

        async def create_and_drive() -> int:
            folder = run or await _create_run(demo, environment, resume=again if keep else None)
            return await loop_runs.drive_to_receipt(
                folder, as_json=as_json, environment=environment, addresses=(), resume=again
            )

        code = asyncio.run(create_and_drive())
        problems = _stage_problems(stage)
    next_steps = [] if not keep or code == INTERRUPTED else _next_steps(demo)
    for line in [*problems, *next_steps]:
        click.echo(line, err=True)
    return code


async def _create_run(demo: DemoFolder, environment: dict[str, str], *, resume: str | None) -> Path:
    """Create the run of the sample's plan."""
    from bridle.cli.user_interface import loop_runs
    from bridle.loop.control import start_run
    from bridle.loop.plan.read_plan import read_plan
    from bridle.loop.settings.bridle_toml import load_settings

    flags = {"agent": "bridle-agent", "sandbox.mode": environment.get("BRIDLE_SANDBOX") or None}
    settings = load_settings(demo.repository, Path(environment["BRIDLE_HOME"]), flags)
    plan = read_plan("PLAN.md", demo.repository, settings)
    request = await start_run.check_start(demo.repository, plan, settings, environment)
    for line in _introduction(demo, len(plan.tasks)):
        click.echo(line, err=True)
    return await loop_runs.create_run(request, environment, introduction=(), resume=resume)


def _introduction(demo: DemoFolder, tasks: int) -> list[str]:
    return [
        f"The sample repository is {demo.repository}",
        f"It is a small package whose tests fail, with a plan of {tasks} tasks.",
        "",
        "The model's answers are scripted and come from this machine: no account is used,",
        "nothing is paid, and the costs are what the same tokens would have cost.",
        "The agent (bridle-agent), its edits, the test runs and the commits are real.",
        "",
    ]


def _next_steps(demo: DemoFolder) -> list[str]:
    """List commands to try next."""
    lines = ["", "Try next:", f"  cd {shlex.quote(str(demo.repository))}"]
    if _bridle() != "bridle":
        lines.append(f'  export PATH={shlex.quote(os.path.dirname(_bridle()))}:"$PATH"')
    needed = "" if importlib.util.find_spec("starlette") else " (pip install 'bridle-cli[web]')"
    return [
        *lines,
        "  git log --stat   one commit a task; its trailers name run, cost and checks",
        "  bridle status    this receipt again",
        "  bridle show      the last conversation; all are in .ralph/logs/claude",
        f"  bridle watch     the same in a browser: conversations, diffs, charts and the journal{needed}",
        "  bridle replay    replay every decision from the journal, with no agent",
        "  bridle audit     verify that no byte of the journal was changed",
        "",
        "Then, in a repository of your own: bridle init",
    ]


def _bridle() -> str:
    """Return the command that starts this Bridle in the user's shell."""
    own = os.path.join(os.path.dirname(sys.executable), "bridle")
    on_path = shutil.which("bridle")
    if not os.path.isfile(own) or (on_path is not None and os.path.realpath(on_path) == os.path.realpath(own)):
        return "bridle"
    return own


def _stage_problems(stage: Stage) -> list[str]:
    """List the requests that the script had no answer for."""
    refused = [request for request in stage.requests if (request.answer or "").endswith("otherwise")]
    problems: list[str] = [f"the stage: {problem}" for problem in stage.problems]
    if refused:
        problems.append(f"the script had no answer for {len(refused)} requests: the repository is not what it expects")
    return problems
