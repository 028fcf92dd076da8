"""The performer of command effects: shell, python and node.

A command that fails has a value too (`success` is false): the process decides whether that is an error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.engine.drive.performer import Job
from bridle.engine.process.effects import NODE, PYTHON, SHELL
from bridle.errors import BadTask, DiskError, ProcessError
from bridle.ground import clock, disk
from bridle.ground.children.capture import capture
from bridle.ground.children.spawn import SpawnFailure
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import codec
from bridle.journal.format.entries import OK, Output, Posted
from bridle.journal.format.input_values import Unstorable, parse_input, to_utf8
from bridle.run.command_output import CommandOutput
from bridle.run.isolation.sandbox_rules import NETWORK_NONE, ChosenSandbox
from bridle.run.isolation.sandbox_session import enter_sandbox, variables_in
from bridle.wire.mask import Mask

# The default time limit, which the format defines for node.
LIMIT_SECONDS = 900.0
# A longer result belongs in a file of the repository.
RESULT_LIMIT_BYTES = 64 * 1024 * 1024
# Characters of each end of the output that are part of the value.
SHOWN_CHARACTERS = 32 * 1024
# Of each log; beyond it only the end of the output is kept.
LOG_LIMIT_BYTES = 256 * 1024 * 1024
STDOUT_FILE = "stdout.log"
STDERR_FILE = "stderr.log"

KINDS = frozenset({SHELL, PYTHON, NODE})

# How bwrap reports a folder that the sandbox does not show.
_NOT_SHOWN = "bwrap: Can't chdir "


class Command(Struct, frozen=True):
    """The command of a task."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    limit_seconds: float
    inputs: bytes
    """The inputs as JSON, for standard input."""
    input_path: Path | None
    """The file that also gets the inputs, if the task names one."""
    output_path: Path | None
    """The file that the command may write its result to, if the task names one."""


class CommandPerformer:
    """Executes effects of these kinds in the repository, in the sandbox of the driver."""

    may_repeat = False
    """An interrupted command may have done half of its work."""

    def __init__(self, sandbox: ChosenSandbox) -> None:
        self._sandbox = sandbox

    async def perform(self, job: Job) -> Posted:
        """Run the command of the task."""
        started, command, folder = clock.iso(clock.now()), read_command(job), job.folder()
        if command.input_path is not None:
            disk.make_private_folder(command.input_path.parent)
            disk.write_atomic(command.input_path, command.inputs + b"\n")
        with _output(folder / STDOUT_FILE, job.mask) as stdout, _output(folder / STDERR_FILE, job.mask) as stderr:
            exit_code = await _run(job, command, self._sandbox, stdout, stderr)
        value = {"success": exit_code == 0, "exitCode": exit_code, "stdout": stdout.text, "stderr": stderr.text}
        if exit_code is None:
            value["error"] = f"timed out after {command.limit_seconds:g} seconds"
        return Posted(
            OK,
            value=value | _result(job, command, stdout.path),
            started_at=started,
            finished_at=clock.iso(clock.now()),
            metadata={"stdoutSha256": stdout.digest, "stderrSha256": stderr.digest},
            stdout=Output(ref=str(stdout.path.relative_to(job.run))),
            stderr=Output(ref=str(stderr.path.relative_to(job.run))),
        )

    async def clear(self, job: Job) -> None:
        """Do nothing: a command leaves only its output."""


def read_command(job: Job) -> Command:
    """Return the command of a task; raise BadTask if its definition has none."""
    task, kind = JsonFields(job.task.document), job.effect.kind
    section, timeout_ms = task.fields(kind), task.fields(kind).positive("timeoutMs")
    return Command(
        argv=_shell_argv(section.first("command") or task.first(kind)) if kind == SHELL else _argv(kind, section),
        cwd=job.repository / str(section.first("cwd") or "."),
        env={str(name): str(value) for name, value in section.object("env").items()},
        limit_seconds=timeout_ms / 1000 if timeout_ms else LIMIT_SECONDS,
        inputs=to_utf8(json.dumps(job.task.inputs, ensure_ascii=False)),
        input_path=_io_path(job, task, "inputJsonPath"),
        output_path=_io_path(job, task, "outputJsonPath"),
    )


def _argv(kind: str, section: JsonFields) -> tuple[str, ...]:
    code, entry, arguments = section.text("code"), section.text("entry", "file"), section.texts("args") or ()
    if kind == PYTHON and code is not None:
        return (sys.executable, "-c", code, *arguments)
    if entry is None:
        raise BadTask(f"a task of kind {kind} names no file", remedy=f"Set {kind}: {{'entry': 'path', 'args': […]}}.")
    return (sys.executable if kind == PYTHON else "node", entry, *arguments)


def _shell_argv(command: object) -> tuple[str, ...]:
    if isinstance(command, str) and command.strip():
        return ("/bin/sh", "-c", command)
    if isinstance(command, (list, tuple)) and command and all(isinstance(argument, str) for argument in command):
        return tuple(command)
    raise BadTask("a task of kind shell has no command", remedy="Set shell: {'command': 'make test'} or a list.")


def _io_path(job: Job, task: JsonFields, name: str) -> Path | None:
    """Return a file that the task names, relative to the run's folder; raise BadTask if it is outside."""
    relative = task.fields("io").text(name)
    if relative is None:
        return None
    path = (job.run / relative).resolve()
    if not path.is_relative_to(job.run.resolve()):
        raise BadTask(f"io.{name} of task {job.effect.task_id} must be in the run's folder, got {relative!r}")
    return path


def _output(path: Path, mask: Mask) -> CommandOutput:
    with suppress(OSError):  # of an earlier attempt; anything else there makes the next line fail
        path.unlink()
    return CommandOutput(
        path,
        disk.create_exclusive(path),
        mask,
        head_characters=SHOWN_CHARACTERS,
        tail_characters=SHOWN_CHARACTERS,
        log_limit_bytes=LOG_LIMIT_BYTES,
    )


async def _run(
    job: Job, command: Command, sandbox: ChosenSandbox, stdout: CommandOutput, stderr: CommandOutput
) -> int | None:
    """Run the command; return its exit code, or None at the time limit.

    A missing program or folder is an error of the task; a failure of the machine to start it is not.
    """
    environment = {**variables_in(sandbox, job.environment, agent=None), **command.env}
    with enter_sandbox(
        sandbox,
        command.argv,
        cwd=command.cwd,
        environment=environment,
        agent=None,
        work=job.repository,
        read_only=(job.run.parent,),
        results=_writable_results(job, command) if sandbox.is_on else (),
        has_network=sandbox.rules.network != NETWORK_NONE,
    ) as sandboxed:
        try:
            captured = await capture(
                sandboxed.argv,
                cwd=command.cwd,
                environment=sandboxed.environment,
                limit_seconds=command.limit_seconds,
                stdin=command.inputs,
                on_stdout=stdout.add,
                on_stderr=stderr.add,
                sandbox=sandboxed.sandbox,
            )
            sandboxed.check_started(captured.exit_code, stderr.text.encode())
        except ProcessError as error:
            if isinstance(error.payload, SpawnFailure) and error.payload.about != "machine":
                raise BadTask(error.message, remedy=error.remedy) from error
            if _NOT_SHOWN in error.message:
                raise BadTask(
                    f"the sandbox does not show {command.cwd}",
                    remedy="Add it to `visible` in the table [sandbox] of your bridle.toml, or use --sandbox off.",
                ) from error
            raise
    return captured.exit_code


def _writable_results(job: Job, command: Command) -> tuple[Path, ...]:
    """Return what of the run's folder the command may write: the folder of its effect, or only its result file."""
    path = command.output_path
    if path is None:
        return ()
    disk.make_private_folder(path.parent)
    if path.is_relative_to(job.folder().resolve()):
        return (job.folder(),)
    if not path.exists():
        disk.write_atomic(path, b"")
    return (path,)


def _is_file(path: Path, job: Job) -> bool:
    """Return whether a file is at a path, without a link in the effect's folder, where the command can make links."""
    for folder in (job.folder(), job.folder().resolve()):
        if path.is_relative_to(folder) and path.resolve() != folder.resolve() / path.relative_to(folder):
            return False
    return path.is_file()


def _result(job: Job, command: Command, stdout: Path) -> dict[str, Any]:
    """Return the JSON that the command wrote to the file of the task, else to standard output; empty without any."""
    path = command.output_path
    if path is None or not _is_file(path, job) or path.stat().st_size == 0:
        if job.effect.kind == SHELL or not _is_file(stdout, job):
            return {}
        path = stdout
    try:
        return {"result": job.mask.apply_to_json(parse_input(disk.read_bounded(path, RESULT_LIMIT_BYTES)))}
    except Unstorable as error:
        raise BadTask(f"the result of task {job.effect.task_id} cannot be stored: {error}") from error
    except (DiskError, codec.BadText):
        return {}  # it printed text
