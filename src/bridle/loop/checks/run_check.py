"""One check: a shell command of the recorded plan.

It runs in its own session, in a sandbox of its own where there is one, and with no input, until it exits or reaches its
time limit. All processes that it started end with it. Its raw output is in a private log, and masked everywhere else.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from bridle.errors import MachineError
from bridle.ground import clock, ids
from bridle.ground.children.capture import capture
from bridle.ground.children.spawn import SHORTAGE_REMEDY
from bridle.loop.checks.state_files import kept_state_files
from bridle.loop.checks.without_files import moved_folder
from bridle.loop.effect_results import TIMED_OUT, CheckResult
from bridle.loop.effects import Check
from bridle.loop.protection.programs_outside import kept_during_check
from bridle.loop.text.failure_excerpt import EXCERPT_CHARACTERS, EXCERPT_LINES, failure_excerpt
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.command_output import CommandOutput
from bridle.run.isolation.sandbox_rules import NETWORK_NONE, ChosenSandbox
from bridle.run.isolation.sandbox_session import enter_sandbox, variables_in
from bridle.run.logs import create_log, private_folder
from bridle.wire.mask import Mask
from bridle.workspace import gc_lock

FOLDER = Path(".ralph") / "logs" / "checks"
# The size limit of a check's log; beyond it only the end of the output is kept.
LOG_LIMIT_BYTES = 128 * 1024 * 1024
# The end of an output says what failed; its first screen says what was run.
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 14_000
# Searched for the first failure. Runners print thousands of tests into less.
EXCERPT_READ_BYTES = 4 * 1024 * 1024

# The message of a shell or of make is the last that a check prints; its callers add a few lines at most.
SHORTAGE_LINES = 5
_CANNOT_FORK = re.compile(
    r"\S+: (?:line )?(?:\d+: )?(?:Cannot fork|v?fork: (?:Resource temporarily unavailable|Cannot allocate memory))$"
)

# A shell between Bridle and the check, because a check may kill its parent. Both outputs are one stream, so that the
# log has them in order.
_WRAPPER = 'exec 2>&1; /bin/sh -c "$1"; exit "$?"'


def argv(command: str) -> tuple[str, ...]:
    """Return the arguments that run a shell command."""
    return ("/bin/sh", "-c", command)


async def run_check(
    context: RunContext, check: Check, *, task: str, number: int, limit_seconds: float, is_setup: bool = False
) -> CheckResult:
    """Run one command in the context's folder; a setup always has the network."""
    began = clock.monotonic()
    with create_output(context.workspace, clock.now(), task, number, context.mask) as output:
        has_network = is_setup or context.sandbox.rules.network != NETWORK_NONE
        with kept_state_files(context), kept_during_check(context, is_setup=is_setup):
            async with gc_lock.released():
                exit_code = await _run(context, check.command, output, limit_seconds, has_network=has_network)
    if exit_code:
        _raise_for_shortage(check.command, output.text)
    seconds = round(clock.monotonic() - began, 3)
    timed_out = exit_code is None
    return CheckResult(
        command=check.command,
        owner=check.owner,
        exit_code=TIMED_OUT if exit_code is None else _shell_exit_code(exit_code),
        seconds=seconds,
        timed_out=timed_out,
        output=_with_limit_note(output.text, limit_seconds) if timed_out else output.text,
        excerpt=_excerpt(output) if exit_code != 0 else "",
        log=str(output.path.relative_to(context.workspace)),
        argv=argv(check.command),
    )


def _excerpt(output: CommandOutput) -> str:
    """Return the first failure and the summary; of a long output the first failure may be in neither end."""
    text = output.text
    if text.count("\n") > EXCERPT_LINES:
        text = (
            f"{output.beginning(EXCERPT_READ_BYTES)}\n{text[-TAIL_CHARACTERS:]}"
            if len(text) > TAIL_CHARACTERS
            else text
        )
    return failure_excerpt(text)[:EXCERPT_CHARACTERS]


def create_output(workspace: Path, moment: datetime, name: str, number: int, mask: Mask) -> CommandOutput:
    folder = private_folder(workspace, FOLDER)
    path, fd = create_log(folder, f"{clock.stamp(moment)}-{ids.safe_name(name)}-{number}", ".log")
    return CommandOutput(
        path,
        fd,
        mask,
        head_characters=HEAD_CHARACTERS,
        tail_characters=TAIL_CHARACTERS,
        log_limit_bytes=LOG_LIMIT_BYTES,
    )


def _without_moved_files(context: RunContext) -> ChosenSandbox:
    """Return the sandbox of a check: it cannot read what was moved out of its working copy."""
    moved = moved_folder(context)
    if not moved.is_dir():
        return context.sandbox
    rules = context.sandbox.rules
    return replace(context.sandbox, rules=replace(rules, hidden=(*rules.hidden, str(moved))))


async def _run(
    context: RunContext, command: str, output: CommandOutput, limit_seconds: float, *, has_network: bool
) -> int | None:
    """Run the command until it exits, and end what it leaves behind; return None at the limit."""
    environment = variables_in(context.sandbox, context.environment, agent=None)
    with enter_sandbox(
        _without_moved_files(context),
        ("/bin/sh", "-c", _WRAPPER, "check", command),
        cwd=Path(context.folder),
        environment={**environment, "PWD": str(context.folder)},
        agent=None,
        read_only=context.read_only,
        has_network=has_network,
    ) as sandboxed:
        captured = await capture(
            sandboxed.argv,
            cwd=Path(context.folder),
            environment=sandboxed.environment,
            limit_seconds=limit_seconds,
            on_stdout=output.add,
            on_stderr=output.add,
            waits_for_output=False,
            sandbox=sandboxed.sandbox,
            process_limit=context.sandbox.rules.max_processes,
        )
        if captured.reached_limit is not None:
            output.add(f"\n[ended, because it had more than {captured.reached_limit} processes]\n".encode())
            return captured.exit_code or 1
        sandboxed.check_started(captured.exit_code, captured.stderr)
    return captured.exit_code


def _raise_for_shortage(command: str, output: str) -> None:
    """Raise MachineError if a failed check ends with a shell's message that it cannot start a process."""
    for line in output.splitlines()[-SHORTAGE_LINES:]:
        if _CANNOT_FORK.match(line):
            raise MachineError(f"the check `{command}` could not start a process ({line})", remedy=SHORTAGE_REMEDY)


def _shell_exit_code(exit_code: int) -> int:
    return exit_code if exit_code >= 0 else 128 - exit_code


def _with_limit_note(text: str, limit_seconds: float) -> str:
    """Append the time limit to the output, which is all that the next prompt shows."""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}[ended after {limit_seconds:g} seconds, the limit for one check]\n"
