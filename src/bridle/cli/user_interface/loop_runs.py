"""What the commands that drive a run of the loop share: creating it, driving it to its receipt."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from bridle.cli import exit_codes
from bridle.cli.user_interface import notify
from bridle.cli.user_interface.chosen_sandbox import sandbox_line, sandbox_of_run
from bridle.cli.user_interface.print_receipt import print_receipt
from bridle.cli.user_interface.run_display import display_for
from bridle.cli.user_interface.terminal import say, until_signalled
from bridle.engine.drive.wait_for_driver import check_no_driver
from bridle.engine.iterate.iteration_report import COMPLETED
from bridle.errors import AgentError, Error
from bridle.ground.home import bridle_home
from bridle.ground.threads import in_thread
from bridle.ground.user_environment import user_environment
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import runs_folder
from bridle.loop import user_messages
from bridle.loop.control.branch_facts import with_branch_facts
from bridle.loop.control.changed_agents import agent_in_force
from bridle.loop.control.changed_plan import find_changes
from bridle.loop.control.current_state import read_receipt
from bridle.loop.control.foreign_runs import check_foreign, is_foreign, own_limits
from bridle.loop.control.run_place import check_place
from bridle.loop.control.runs import RunEnd, RunStatus, drive_loop_run
from bridle.loop.control.start_run import RunRequest, create
from bridle.loop.plan.model import Plan
from bridle.loop.plan.tick_boxes import tick
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import VERIFIED
from bridle.loop.run_inputs import RunInputs, read_inputs
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.settings.model import Settings
from bridle.loop.undo.undo_entries import check_not_undone
from bridle.loop.working_copy import put_aside
from bridle.loop.working_copy.run_lock import check_unlocked, hold_working_copy
from bridle.loop.working_copy.run_worktrees import worktree_folder
from bridle.run.command import build_command
from bridle.run.isolation.choose_sandbox import check_owner, choose_sandbox
from bridle.run.locate import find_program
from bridle.run.request import Auth, Permission, Request
from bridle.run.sandbox import detect_sandbox
from bridle.run.untrusted_settings import find_untrusted
from bridle.workspace import snapshot
from bridle.workspace.git import Git

Record = Callable[[dict[str, Any]], None]

RESUME = "bridle resume"
EXIT_CODES = {
    RunStatus.DONE: exit_codes.SUCCESS,
    RunStatus.FAILED: exit_codes.FAILED,
    RunStatus.LIMIT_REACHED: exit_codes.LIMIT_REACHED,
    RunStatus.NEEDS_YOU: exit_codes.WAITING,
    RunStatus.INTERRUPTED: exit_codes.INTERRUPTED,
    RunStatus.AGENT_UNUSABLE: exit_codes.AGENT_UNUSABLE,
    RunStatus.BAD_PLAN: exit_codes.USAGE,
}


async def create_run(
    request: RunRequest,
    environment: Mapping[str, str],
    *,
    introduction: Sequence[str] | None = None,
    resume: str | None = RESUME,
) -> Path:
    """Create the run and print its agents, what pays, its limits and how to resume it."""
    settings, tasks = request.settings, len(request.plan.tasks)
    if settings.notify:
        notify.check_addresses(settings.notify)
    sandbox = choose_sandbox(settings.sandbox, environment, request.repository)
    agents = _describe_agents(settings, request.repository, environment, is_sandboxed=sandbox.is_on)
    check_owner(sandbox, request.repository)  # raises before the run is created
    for line in agents if introduction is None else introduction:
        say(line)
    if not settings.uses_worktrees:
        check_unlocked(request.repository)
    runs = _runs_of(request.repository, environment)
    await _report_put_aside(runs, Git(request.repository, environment))
    run = create(request, runs)
    say(f"run {run.name}: {tasks} {'task' if tasks == 1 else 'tasks'}; {settings.limits.describe()}")
    if settings.uses_worktrees:
        at_once = f", {settings.parallel} tasks at once" if settings.parallel > 1 else ""
        say(f"working in {worktree_folder(request.repository, run.name)}{at_once}; your working copy is not touched")
    if resume is not None:
        say(f"Ctrl-C is safe: `{resume}` continues the run")
    return run


async def _report_put_aside(runs: Path, git: Git) -> None:
    """Name the runs that have put uncommitted changes aside and did not restore them, and how to get them back."""
    for run, state in put_aside.find_all(runs).items():
        ref = f"{snapshot.REFS}{state.name(run)}"
        if await git.object(ref) is not None:
            has_ended = FileStore(runs / run).position().end is not None
            way = f"git stash apply --index {ref}" if has_ended else f"bridle resume {run}"
            say(f"your uncommitted changes that the run {run} put aside are not in the files; restore them: {way}")


def _describe_agents(
    settings: Settings, folder: Path, environment: Mapping[str, str], *, is_sandboxed: bool
) -> list[str]:
    """Return a line for each listed agent; raise AgentError where none of them is installed."""
    lines: list[str] = []
    missing: list[AgentError] = []
    for name in settings.agents:
        try:
            found = find_program(name, environment, folder, is_sandboxed=is_sandboxed)
        except AgentError as error:
            missing.append(error)
            lines.append(f"{error.message}. {error.remedy}")
            continue
        request = Request(prompt="-", cwd=folder, agent=name, auth=Auth(settings.auth))
        where = "; an agent can replace it, so it is started in the sandbox only" if found.is_inside else ""
        auth = build_command(request, found.path, environment).auth
        lines.append(f"agent {name} ({found.path}), auth: {auth}{where if is_sandboxed else ''}")
        if untrusted := find_untrusted(name, folder, environment).message:
            lines.append(untrusted)
    if len(missing) == len(settings.agents):
        raise missing[0]
    if settings.permission == Permission.BYPASS:
        outer = detect_sandbox(environment)
        lines.append("permissions are bypassed" + (f"; in {outer}" if outer else ""))
    return lines


def _tick(plan: Path, receipt: Receipt) -> None:
    """Tick verified tasks in the plan; the run has ended, so a failure is only printed."""
    try:
        tick(plan, [task.title for task in receipt.tasks if task.verdict in VERIFIED])
    except Error as error:
        say(f"the plan was not ticked: {error.message}. {error.remedy or ''}".rstrip())


async def drive_to_receipt(
    run: Path,
    *,
    as_json: bool,
    with_hooks: bool = True,
    environment: Mapping[str, str] | None = None,
    addresses: Sequence[str] | None = None,
    resume: str | None = None,
    sandbox: str | None = None,
    limits: Mapping[str, Any] = MappingProxyType({}),
    agent: Mapping[str, Any] = MappingProxyType({}),
    record: Record | None = None,
    new_plan: Plan | None = None,
) -> int:
    """Drive a run to its end, print its receipt, notify, and return the exit code.

    `resume` is the command that continues this run, if it is not `bridle resume`; `sandbox` is a mode for this driver,
    `limits` are those that the user changes, and `agent` are the settings of agents that the user changes. A run that
    came with its repository gets the user's own sandbox mode and limits, whichever command continues it. `record`
    writes the user's command to the journal, with the limits that change; it is called once nothing refuses the driver.
    `new_plan` is a plan that it records.
    """
    store, variables = FileStore(run), user_environment(os.environ) if environment is None else environment
    inputs, was_completed = read_inputs(store), store.position().end == COMPLETED
    repository, settings = Path(inputs.repository), inputs.settings
    if not was_completed:
        await _check_drivable(run, store, inputs, is_continued=record is not None, has_new_plan=new_plan is not None)
    if addresses is None:  # they are not in the journal, since they contain tokens
        current = Settings() if was_completed else load_settings(repository, bridle_home(os.environ))
        addresses = current.notify
        if record is not None and current.ignored:  # a new run has printed it
            say(current.ignored)
    check_foreign(run)
    changed_limits = {} if was_completed else {**own_limits(run), **limits}
    recorded = None if is_foreign(run) else settings.sandbox_mode
    chosen = None if was_completed else sandbox_of_run(repository, recorded, variables, flag=sandbox)
    if chosen is not None:
        say(sandbox_line(chosen))
    if agent and not was_completed:
        settings = agent_in_force(store, settings, agent)
        for line in _describe_agents(settings, repository, variables, is_sandboxed=chosen is not None and chosen.is_on):
            say(line)

    def record_command() -> None:
        if changed_limits:
            user_messages.send(store, user_messages.LIMITS, changed_limits)
        if agent:
            user_messages.send(store, user_messages.AGENT, dict(agent))
        if record is not None:
            record(changed_limits)

    async def drive() -> RunEnd:
        is_elsewhere = was_completed or settings.uses_worktrees
        working_copy = nullcontext() if is_elsewhere else hold_working_copy(repository, run.name)
        async with working_copy, display_for(run, inputs, variables) as display:
            commands: list[Callable[[], None]] = [record_command]
            while True:
                end = await drive_loop_run(
                    run,
                    variables,
                    display.say,
                    with_hooks=with_hooks,
                    watch=display.watch,
                    on_receipt=display.on_receipt,
                    sandbox=chosen,
                    record=commands.pop() if commands else None,
                    new_plan=new_plan,
                    may_iterate=display.may_iterate,
                )
                if end.status is not RunStatus.NEEDS_YOU or not await display.wait_for_answer():
                    return end

    end = await _drive_to_end(run, store, drive(), variables, as_json=as_json)
    known = end.receipt
    receipt = await in_thread(lambda: with_branch_facts(known, run, variables), name="reading the branch")
    _print_end(receipt if resume is None else replace(receipt, resume=resume), end, as_json=as_json)
    if settings.tick and inputs.plan.path is not None:
        _tick(Path(inputs.plan.path), receipt)
    if addresses and end.status is not RunStatus.INTERRUPTED:
        await notify.send(addresses, receipt, end.reason, say)
    return EXIT_CODES[end.status]


async def _check_drivable(
    run: Path, store: FileStore, inputs: RunInputs, *, is_continued: bool, has_new_plan: bool
) -> None:
    """Raise UserError for a run that cannot be driven here, or now."""
    check_not_undone(store)
    check_place(inputs, run)
    if not is_continued:
        return
    if not has_new_plan:
        say_changed_plan(run)
    if not inputs.settings.uses_worktrees:
        check_unlocked(Path(inputs.repository))
    await check_no_driver(run)


async def _drive_to_end(
    run: Path, store: FileStore, driving: Coroutine[Any, Any, RunEnd], variables: Mapping[str, str], *, as_json: bool
) -> RunEnd:
    """Drive a run until it ends or a signal arrives; if an error ends it, print the receipt and raise the error."""
    before = store.position().seq
    gc.freeze()  # modules live as long as the driver: no collection of garbage need look at them
    try:
        end = await until_signalled(driving)
    except Error as error:  # a run that was driven has its receipt, whatever ended it
        with suppress(Error):
            if FileStore(run).position().seq > before:
                receipt = await _current_receipt(run, variables)
                print_receipt(receipt, error.message, as_json=as_json)
        raise
    if end is not None:
        return end
    receipt = await in_thread(lambda: read_receipt(run), name="reading the receipt")
    return RunEnd(receipt, RunStatus.INTERRUPTED, "interrupted; nothing is lost")


def _print_end(receipt: Receipt, end: RunEnd, *, as_json: bool) -> None:
    if as_json and end.reason:
        say(end.reason)  # the document has no field for it
    print_receipt(receipt, end.reason, as_json=as_json)


def say_changed_plan(run: Path) -> None:
    """Print how plan and settings differ from those that a run uses."""
    changes = find_changes(run, os.environ)
    for line in changes:
        say(line)
    if changes:
        say(f"the run uses its own plan; to take the new one for what is not done: bridle resume {run.name} --replan")


async def _current_receipt(run: Path, environment: Mapping[str, str]) -> Receipt:
    return await in_thread(lambda: with_branch_facts(read_receipt(run), run, environment), name="reading the receipt")


def _runs_of(repository: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of a repository's runs, whatever the current folder is."""
    return runs_folder(None, {layout.RUNS_FOLDER_VARIABLE: str(repository / layout.RUNS_FOLDER), **environment})
