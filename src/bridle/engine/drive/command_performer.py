"""Effects that are commands: shell, python and node. Run to their end, with a limit, and told as a value.

A command that fails is a value too (`success` is false): whether that is an error, the process decides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridle.engine.drive.performer import Job, masked
from bridle.engine.process.effects import NODE, PYTHON, SHELL
from bridle.errors import BadTask, DiskError, ProcessError
from bridle.ground import clock, disk
from bridle.ground.children.capture import capture
from bridle.ground.children.spawn import SpawnFailure
from bridle.journal.format.entries import OK, Output, Posted
from bridle.run.command_output import CommandOutput
from bridle.wire.mask import Mask

# What a command may take that says nothing about it: the format's own default for node.
LIMIT_SECONDS = 900.0
# A result that is longer is no result but a file, and has a better place in the repository.
RESULT_LIMIT_BYTES = 64 * 1024 * 1024
# Characters of each end of the output that are part of the value.
SHOWN_CHARACTERS = 32 * 1024
# Of each log. A command that prints more is not read for it.
LOG_LIMIT_BYTES = 256 * 1024 * 1024
STDOUT_FILE = "stdout.log"
STDERR_FILE = "stderr.log"

KINDS = frozenset({SHELL, PYTHON, NODE})


class CommandPerformer:
    """Performs one of these kinds, in the repository."""

    may_repeat = False
    """A command that was cut off may have done half of its work."""

    async def perform(self, job: Job) -> Posted:
        """Run the command of the task."""
        started = clock.iso(clock.now())
        kind, section = job.effect.kind, _section(job)
        words = argv(kind, job.task)
        inputs = json.dumps(job.task.get("inputs"), ensure_ascii=False).encode("utf-8", "surrogateescape")
        folder, limit = job.folder(), _limit_seconds(section)
        _put_inputs(job, inputs)
        with _output(folder / STDOUT_FILE, job.mask) as stdout, _output(folder / STDERR_FILE, job.mask) as stderr:
            exit_code = await _run(words, job, inputs, limit, stdout, stderr)
        value = {"success": exit_code == 0, "exitCode": exit_code, "stdout": stdout.text, "stderr": stderr.text}
        if exit_code is None:
            value["error"] = f"ended after {limit:g} seconds"
        return Posted(
            OK,
            value=value | _result(job, stdout.path, kind),
            started_at=started,
            finished_at=clock.iso(clock.now()),
            metadata={"stdoutSha256": stdout.digest, "stderrSha256": stderr.digest},
            stdout=Output(ref=str(stdout.path.relative_to(job.run))),
            stderr=Output(ref=str(stderr.path.relative_to(job.run))),
        )

    async def clear(self, job: Job) -> None:
        """Nothing is left of a command but its output."""


def argv(kind: str, task: Mapping[str, Any]) -> tuple[str, ...]:
    """The words to run; BadTask where the definition has none."""
    section = task.get(kind)
    given = _mapping(section) if isinstance(section, Mapping) else {"command": section}
    if kind == SHELL:
        return _shell(given)
    entry = given.get("entry") or given.get("file")
    words = tuple(str(word) for word in given.get("args") or ())
    code = given.get("code")
    if kind == PYTHON and isinstance(code, str):
        return (sys.executable, "-c", code, *words)
    if not isinstance(entry, str) or not entry:
        raise BadTask(f"a task of kind {kind} names no file", remedy=f"Give {kind}: {{'entry': 'path', 'args': […]}}.")
    return (sys.executable if kind == PYTHON else "node", entry, *words)


def _shell(given: Mapping[str, Any]) -> tuple[str, ...]:
    command = given.get("command")
    if isinstance(command, str) and command.strip():
        return ("/bin/sh", "-c", command)  # a line for the shell is what the process asked for
    if isinstance(command, (list, tuple)) and command and all(isinstance(word, str) for word in command):
        return tuple(command)
    raise BadTask("a task of kind shell has no command", remedy="Give shell: {'command': 'make test'} or a list.")


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
    words: tuple[str, ...], job: Job, inputs: bytes, limit_seconds: float, stdout: CommandOutput, stderr: CommandOutput
) -> int | None:
    """Run the command; return its exit code, None at the limit.

    A program or a folder that is missing is an error of the task; a machine that cannot start it is not.
    """
    section = _section(job)
    own = {str(name): str(value) for name, value in _mapping(section.get("env")).items()}
    try:
        captured = await capture(
            words,
            cwd=job.repository / str(section.get("cwd") or "."),
            environment={**job.environment, **own},
            limit_seconds=limit_seconds,
            stdin=inputs,
            on_stdout=stdout.add,
            on_stderr=stderr.add,
        )
    except ProcessError as error:
        if isinstance(error.payload, SpawnFailure) and error.payload.about != "machine":
            raise BadTask(error.message, remedy=error.remedy) from error
        raise
    return captured.exit_code


def _put_inputs(job: Job, inputs: bytes) -> None:
    """Write the inputs where the task wants them as a file."""
    path = _io_path(job, "inputJsonPath")
    if path is not None:
        disk.make_private_folder(path.parent)
        disk.write_atomic(path, inputs + b"\n")


def _result(job: Job, stdout: Path, kind: str) -> dict[str, Any]:
    """The document that a program left: in the file that the task names, else on standard output."""
    named = _io_path(job, "outputJsonPath")
    path = named if named is not None and named.exists() else stdout
    if kind == SHELL and path is stdout:
        return {}
    try:
        return {"result": masked(json.loads(disk.read_bounded(path, RESULT_LIMIT_BYTES)), job.mask)}
    except (DiskError, ValueError, RecursionError):
        return {}  # it printed words and no document


def _io_path(job: Job, name: str) -> Path | None:
    """A file that the task names, from the run's folder; it may not lead out of there."""
    given = _mapping(job.task.get("io")).get(name)
    if not isinstance(given, str) or not given:
        return None
    path = (job.run / given).resolve()
    if not path.is_relative_to(job.run.resolve()):
        raise BadTask(f"io.{name} {given!r} of task {job.effect.task_id} leads out of the run's folder")
    return path


def _section(job: Job) -> Mapping[str, Any]:
    return _mapping(job.task.get(job.effect.kind))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _limit_seconds(section: Mapping[str, Any]) -> float:
    timeout = section.get("timeoutMs")
    if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or timeout <= 0:
        return LIMIT_SECONDS
    return timeout / 1000
