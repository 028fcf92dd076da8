"""Runs one command in its own shell: starts it, waits for it, and ends it with all its descendants."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bridle.agent.tools.shell import terminal_programs
from bridle.agent.tools.shell.output_spool import OutputSpool
from bridle.agent.tools.shell.running_command import CommandEnd, Leftover
from bridle.errors import ProcessError
from bridle.ground.children import light_child
from bridle.ground.children.light_child import LightChild
from bridle.ground.children.spawn import Spawn
from bridle.ground.descendants import keeper_client, supervisor, terminate
from bridle.ground.threads import in_thread, wait_uncancelled

# The output of a finished command is already in the pipe. This is for filters it did not wait for (`> >(tee log)`).
DRAIN_SECONDS = 0.05

# Time for a stopped process to remove its lock files; an interrupt must still feel immediate.
END_GRACE_SECONDS = 0.3

# One argument may have 128 KiB on Linux (MAX_ARG_STRLEN); a longer command is passed in an unnamed file.
ARGUMENT_LIMIT_BYTES = 100_000

# Longer than any path.
_FOLDER_LIMIT_BYTES = 8192


def is_supervised(environment: Mapping[str, str]) -> bool:
    """Return whether each command gets a supervisor, which ends what it leaves, also if we are killed.

    An outer run of Bridle has one for us, and ends everything with us: a second one would only cost its start.
    """
    return supervisor.is_supported() and terminate.TOKEN_VARIABLE not in environment


async def end_leftovers(left: Sequence[Leftover]) -> None:
    """End what supervised commands left running."""
    await asyncio.gather(*(command.end(grace_seconds=END_GRACE_SECONDS) for command in left))


async def end_by_token(token: str) -> None:
    """End all processes that carry a session's token."""
    try:
        work = in_thread(
            lambda: terminate.end_all(token, None, grace_seconds=END_GRACE_SECONDS), name="ending what commands left"
        )
        await wait_uncancelled(work)
    finally:
        keeper_client.drop(token)


class Command:
    """A running command; call exactly one of `finish` and `end`."""

    def __init__(
        self,
        shell: tuple[str, ...],
        command: str,
        spool: OutputSpool,
        *,
        cwd: Path,
        environment: Mapping[str, str],
        tokens: tuple[str, str],
        on_folder: Callable[[str], bool],
        on_left: Callable[[LightChild], None],
    ) -> None:
        """Start it with two tokens: the session's and its own.

        `on_folder` gets the directory it ended in and returns whether that is allowed; `on_left` gets the console if
        the command left processes running.
        """
        self.spool = spool
        self._on_folder = on_folder
        self._on_left = on_left
        body, long = _body(command)
        self._note, theirs = os.pipe()
        keep = (theirs,) if long is None else (theirs, long)
        script = _script(body, theirs, keep)
        wanted = Spawn((*shell, script), cwd, _with_session(environment, tokens[0]), tokens[1])
        try:
            supervised = is_supervised(environment)
            self._console = light_child.start(wanted, on_chunk=spool.add, keep=keep, supervised=supervised)
        except BaseException:
            os.close(self._note)
            raise
        finally:
            for fd in keep:
                os.close(fd)

    async def wait(self, timeout_seconds: float | None) -> bool:
        """Wait for its end; return False on timeout. Programs that wait for a terminal are ended."""
        left, pause = timeout_seconds, terminal_programs.FIRST_CHECK_SECONDS
        while left is None or left > pause:
            if await self._console.wait(pause) is not None:
                return True
            terminal_programs.hang_up(self._console.pid)
            left = None if left is None else left - pause
            pause = min(2 * pause, terminal_programs.LAST_CHECK_SECONDS)
        return await self._console.wait(left) is not None

    async def finish(self, *, moves: bool) -> CommandEnd:
        """Read the last output of an ended command and, with `moves`, the directory it ended in."""
        await self._console.drain(limit_seconds=DRAIN_SECONDS)
        folder = self._read_note()
        code = self._console.exit_code
        if not self._console.release():
            self._on_left(self._console)
        self.spool.close()
        assert code is not None  # noqa: S101  # for the type checker: the command has ended
        was_reset = moves and bool(folder) and not self._on_folder(folder)
        return CommandEnd(128 - code if code < 0 else code, was_reset)

    async def end(self) -> None:
        """End it with all its descendants, even if the caller is cancelled."""
        try:
            await self._console.end(grace_seconds=END_GRACE_SECONDS)
        finally:
            self._read_note()
            self.spool.close()

    def _read_note(self) -> str:
        """Read, once, the directory the command ended in; empty if it failed before it reported one."""
        if self._note < 0:
            return ""
        os.set_blocking(self._note, False)
        try:
            return os.fsdecode(os.read(self._note, _FOLDER_LIMIT_BYTES)).removesuffix("\n")
        except BlockingIOError:
            return ""  # it failed, and something it left running holds the other end
        finally:
            os.close(self._note)
            self._note = -1


def _with_session(environment: Mapping[str, str], token: str) -> dict[str, str]:
    """Return the environment with the session's token after those of outer runs."""
    outer = environment.get(terminate.TOKEN_VARIABLE)
    return {**environment, terminate.TOKEN_VARIABLE: f"{outer}:{token}" if outer else token}


def _body(command: str) -> tuple[str, int | None]:
    """Return the command as one word for `eval`, and the descriptor of its file if it is too long for an argument."""
    try:
        size_bytes = len(command.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ProcessError(
            "the command contains an unpaired surrogate, which cannot be encoded",
            remedy="Write the command without it.",
        ) from error
    if "\0" in command:
        raise ProcessError("the command contains a NUL character", remedy="Write it as $'\\0' where it is needed.")
    if size_bytes <= ARGUMENT_LIMIT_BYTES:
        return _quote(command), None
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(command.encode("utf-8"))
        file.flush()
        fd = os.dup(file.fileno())
    return f'"$(</dev/fd/{fd})"', fd


def _quote(text: str) -> str:
    """Quote it as one word on one line, so that bash numbers its lines from 1."""
    if "\n" not in text:
        return shlex.quote(text)
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _script(body: str, note: int, keep: Sequence[int]) -> str:
    """Return the script that runs the command and, if it succeeds, reports its directory."""
    # One line, which bash reads before it runs anything: a quote left open in the command cannot spoil our part.
    # Our descriptors are closed while the command runs: none of its descendants can hold them.
    shut = " ".join(f"{fd}>&-" for fd in keep)
    return f"eval {body} {shut}; case $? in 0) builtin pwd -P >&{note} 2>/dev/null; exit 0;; *) exit;; esac"
