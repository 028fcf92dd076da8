"""Effects that are commands: shell, python and node. Run to their end, with a limit, and told as a value.

A command that fails is a value too (`success` is false): whether that is an error, the process decides.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.engine.effects import NODE, PYTHON, SHELL
from bridle.errors import BadTask, ProcessError
from bridle.ground import disk, ids, process
from bridle.ground.process import Child, Patience, Spawn

# What a command may take that says nothing about it: the format's own default for node.
LIMIT_SECONDS = 900.0
# What of each end of its output is part of the value.
SHOWN_BYTES = 32 * 1024
# What of it is kept in files beside the result; a command that prints more is not read for it.
KEPT_BYTES = 256 * 1024 * 1024
STDOUT_FILE = "stdout.log"
STDERR_FILE = "stderr.log"

KINDS = frozenset({SHELL, PYTHON, NODE})


def argv(kind: str, task: Mapping[str, Any]) -> tuple[str, ...]:
    """The words to run; BadTask where the definition has none."""
    section = task.get(kind)
    given: Mapping[str, Any] = section if isinstance(section, Mapping) else {"command": section}
    if kind == SHELL:
        return _shell(given)
    entry = given.get("entry") or given.get("file")
    words = [str(word) for word in given.get("args") or ()]
    if kind == PYTHON and isinstance(given.get("code"), str):
        return (sys.executable, "-c", given["code"], *words)
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


@dataclass(frozen=True)
class Printed:
    """What a command left: how it ended, the two ends of what it printed, and the files with all of it."""

    exit_code: int | None
    stdout: str
    stderr: str
    stdout_file: Path
    stderr_file: Path


async def perform(
    kind: str, task: Mapping[str, Any], *, cwd: Path, environment: Mapping[str, str], folder: Path
) -> tuple[dict[str, Any], Printed]:
    """Run the command of a task; its value, and what it printed, which goes to files in `folder`."""
    section = task.get(kind)
    given: Mapping[str, Any] = section if isinstance(section, Mapping) else {}
    where = cwd / str(given["cwd"]) if given.get("cwd") else cwd
    limit = _limit_seconds(given)
    own = {str(name): str(value) for name, value in (given.get("env") or {}).items()}
    spawn = Spawn(argv(kind, task), where, {**environment, **own}, ids.new_token(), talk=True)
    inputs = json.dumps(task.get("inputs"), ensure_ascii=False).encode("utf-8", "surrogateescape")
    with _Log(folder / STDOUT_FILE) as stdout, _Log(folder / STDERR_FILE) as stderr:
        exit_code = await _run(spawn, inputs, limit, stdout, stderr)
        printed = Printed(exit_code, stdout.text, stderr.text, stdout.path, stderr.path)
    return _value(kind, printed, limit), printed


async def _run(spawn: Spawn, inputs: bytes, limit_seconds: float, stdout: _Log, stderr: _Log) -> int | None:
    """Run it to its end; None where its time was over. Whatever it started ends with it."""
    child = await process.start(spawn, on_chunk=stdout.add, on_stderr=stderr.add)
    exit_code = None
    feeding = asyncio.create_task(_feed(child, inputs, limit_seconds))
    try:
        async with asyncio.timeout(limit_seconds):
            while await child.read() is not None:
                pass
            exit_code = await child.wait(None)
    except TimeoutError:
        pass
    finally:
        feeding.cancel()
        await asyncio.wait({feeding})
        if exit_code is None:
            await child.stop(patience=Patience())
        await child.close()
    return exit_code


async def _feed(child: Child, inputs: bytes, limit_seconds: float) -> None:
    try:
        await child.write(inputs, limit_seconds=limit_seconds)
    except ProcessError:
        pass  # it ended, or closed its input, before it had read everything: its own choice
    await child.close_stdin()


class _Log:
    """A private file with what a command printed, up to a limit, and the two ends of it at hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._size = 0
        self._head, self._tail = bytearray(), bytearray()

    def __enter__(self) -> _Log:
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def add(self, chunk: bytes) -> None:
        """Take in what was printed; called from the thread that reads."""
        room = max(0, KEPT_BYTES - self._size)
        if room:
            disk.write_all(self._fd, chunk[:room])
        self._size += len(chunk)
        missing = max(0, SHOWN_BYTES - len(self._head))
        self._head += chunk[:missing]
        self._tail = (self._tail + chunk[missing:])[-SHOWN_BYTES:]

    @property
    def text(self) -> str:
        """All of it where it is short; else its two ends."""
        left_out = self._size - len(self._head) - len(self._tail)
        gap = f"\n… {left_out} bytes left out …\n".encode() if left_out > 0 else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


def _value(kind: str, done: Printed, limit: float) -> dict[str, Any]:
    value: dict[str, Any] = {
        "success": done.exit_code == 0,
        "exitCode": done.exit_code,
        "stdout": done.stdout,
        "stderr": done.stderr,
    }
    if done.exit_code is None:
        value["error"] = f"ended after {limit:g} seconds"
    if kind != SHELL and done.exit_code == 0:
        try:
            value["result"] = json.loads(done.stdout)
        except ValueError:
            pass  # it printed words and no document
    return value


def _limit_seconds(given: Mapping[str, Any]) -> float:
    wish = given.get("timeoutMs")
    return wish / 1000 if isinstance(wish, (int, float)) and not isinstance(wish, bool) and wish > 0 else LIMIT_SECONDS


def environment_of(outer: Mapping[str, str], *, run_id: str, effect_id: str) -> dict[str, str]:
    """What a command finds in its environment: everything, and which effect it is."""
    return {**outer, "BRIDLE_RUN_ID": run_id, "BRIDLE_EFFECT_ID": effect_id}
