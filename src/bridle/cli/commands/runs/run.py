"""`bridle run`: work through a plan's tasks until each is verified done."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.user_interface.options import agent_options, auth_option, limit_options, listed_agents, sandbox_option
from bridle.cli.user_interface.terminal import print_document
from bridle.errors import AgentError, UsageError

if TYPE_CHECKING:
    from bridle.loop.control.start_run import RunRequest


@click.command("run", short_help="Work through a plan's tasks until each is verified done.")
@click.argument("plan", required=False, metavar='[PLAN.md|prd.json|"goal"]')
@agent_options
@auth_option
@sandbox_option
@limit_options
@click.option("--parallel", type=int, help="Tasks at once, each in a worktree.  [default: 1]")
@click.option("--worktree", is_flag=True, default=None, help="Work in a worktree; leave your working copy alone.")
@click.option(
    "--no-baseline", "baseline", flag_value=False, type=bool, default=None, help="Run no check before the first agent."
)
@click.option("--red-first", is_flag=True, default=None, help="A task's own check must fail before any work.")
@click.option(
    "--breakpoints",
    type=click.Choice(["ask", "approve", "reject"]),
    help="Ask you, or answer breakpoints by this policy.",
)
@click.option(
    "--allow-dirty", is_flag=True, default=None, help="Start with uncommitted changes; they are put aside and restored."
)
@click.option(
    "--no-commit",
    "commit",
    flag_value=False,
    type=bool,
    default=None,
    help="End on your own branch, with the work in your files, not committed.",
)
@click.option("--tick", is_flag=True, default=None, help="Tick finished tasks in the plan's file.")
@click.option("--pr", is_flag=True, help="Push the branch at the end and open a pull request, through `gh`.")
@click.option("--draft", is_flag=True, help="With --pr: open it as a draft.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--dry-run", is_flag=True, help="Show the first prompt and command; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(
    *,
    plan: str | None,
    dry_run: bool,
    no_hooks: bool,
    as_json: bool,
    sandbox: str | None,
    pr: bool,
    draft: bool,
    **flags: Any,
) -> int:
    """Work through a plan, task by task, with a new agent for each try, until every task is verified done or a limit is
    reached.

    A task is done when the checks pass that Bridle itself runs. Each task becomes one commit on a branch of the run.

    With --worktree the run works in .ralph/worktrees, after the plan's Setup, and does not touch your working copy.
    With --parallel N up to N tasks run at once, each in such a worktree; finished tasks are merged one at a time,
    after their checks pass again, and a task that conflicts is tried again.

    With --no-commit your branch is checked out again once every task is decided, with the work in your files. The run's
    branch keeps the commits, for `bridle verify`, `audit` and `undo`.
    """
    import msgspec

    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface import loop_runs
    from bridle.cli.user_interface.terminal import say
    from bridle.ground.home import bridle_home
    from bridle.ground.user_environment import user_environment
    from bridle.loop.control import start_run
    from bridle.loop.control.protected_tasks import find_warnings
    from bridle.loop.plan.read_plan import read_plan
    from bridle.loop.settings.bridle_toml import load_settings

    if draft and not pr:
        raise UsageError("--draft needs --pr")
    if not dry_run:
        refuse_inside_agent("run")
    overrides = listed_agents(flags)
    overrides["sandbox.mode"] = sandbox
    settings = load_settings(Path.cwd(), bridle_home(os.environ), overrides)
    if pr and not settings.commit:
        raise UsageError("--pr pushes the commits of the run, and with --no-commit your branch has none")
    if settings.ignored:
        say(settings.ignored)
    task_plan = read_plan(plan, Path.cwd(), settings)
    for warning in task_plan.warnings:
        say(str(warning))

    async def check_create_and_drive() -> int:
        environment = user_environment(os.environ)
        request = await start_run.check_start(Path.cwd(), task_plan, settings, environment, is_dry=dry_run)
        for warning in await find_warnings(request.repository, request.plan, settings, environment, base=request.base):
            say(warning)
        if (leftovers := await start_run.find_leftovers(request, environment)) is not None:
            say(leftovers)
        if pr:
            await _warn_of_pull_request(request.repository, environment)
        if dry_run:
            return _show_first_iteration(request, as_json=as_json)
        run = await loop_runs.create_run(msgspec.structs.replace(request, is_draft=draft), environment)
        code = await loop_runs.drive_to_receipt(
            run, as_json=as_json, with_hooks=not no_hooks, sandbox=settings.sandbox_mode
        )
        if pr:
            await _open_pull_request(run, code, environment, is_draft=draft)
        return code

    return asyncio.run(check_create_and_drive())


async def _warn_of_pull_request(repository: Path, environment: dict[str, str]) -> None:
    """Print why a pull request cannot be opened at the end, before anything is spent."""
    from bridle.cli.user_interface.pull_request import missing_for_pull_request
    from bridle.cli.user_interface.terminal import say
    from bridle.ground.threads import in_thread

    missing = await in_thread(lambda: missing_for_pull_request(repository, environment), name="reading the remotes")
    if missing is not None:
        say(missing)


async def _open_pull_request(run: Path, code: int, environment: dict[str, str], *, is_draft: bool) -> None:
    """Open a pull request for a run that has ended; the exit code stays that of the run."""
    from bridle.cli.exit_codes import FAILED, SUCCESS
    from bridle.cli.user_interface.pull_request import open_pull_request
    from bridle.cli.user_interface.terminal import say

    if code in (SUCCESS, FAILED):
        await open_pull_request(run, environment, is_draft=is_draft)
    else:
        say("no pull request: the run has not ended. Its receipt has the commands that open one")


def _show_first_iteration(run_request: RunRequest, *, as_json: bool) -> int:
    """Print the prompt and the command of the first iteration; write nothing."""
    import msgspec

    from bridle.ground.user_environment import user_environment
    from bridle.loop.performers.work import first_request
    from bridle.loop.process.decisions import first_task
    from bridle.loop.working_copy.run_context import run_context
    from bridle.run.command import build_command
    from bridle.views.terminal.escape_controls import escape_unprintable

    environment = user_environment(os.environ)
    context = run_context(
        run_request.repository,
        environment=environment,
        settings=run_request.settings,
        plan=run_request.plan,
        base=run_request.base,
        run_folder=run_request.repository / ".a5c/runs/dry-run",
    )
    task = first_task(run_request.plan)
    prompt, request = first_request(task, context)
    command_line = build_command(request, _program(request.agent, environment), environment).argv
    if as_json:
        document = {
            "task": task.title,
            "prompt": prompt.text,
            "cut": msgspec.to_builtins(prompt.cut),
            "agent": request.agent,
            "command": list(command_line),
            "limits": run_request.settings.limits.as_json(),
        }
        print_document(document)
        return 0
    click.echo(escape_unprintable(prompt.text))
    click.echo(f"The command that receives this prompt:\n\n{shlex.join(command_line)}")
    click.echo(f"nothing was started; limits of a run: {run_request.settings.limits.describe()}", err=True)
    return 0


def _program(agent: str, environment: dict[str, str]) -> str:
    """Return the path of the agent, or its name if it is not installed, since nothing is started."""
    from bridle.run.locate import find_program

    try:
        return find_program(agent, environment).path
    except AgentError as error:
        click.echo(f"bridle: {error.message}. {error.remedy}", err=True)
        return agent
