"""The shell that commands run in: a new bash for each, the folder kept between them, nothing left at the end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridle.agent.tools.spool import Spool
from bridle.errors import ProcessError
from bridle.ground import console, descendants, guard
from bridle.ground.aside import in_thread, undisturbed
from bridle.ground.console import Console
from bridle.ground.spawn import Spawn

# Commands are written for bash, so they run in bash, whatever shell the user prefers.
SHELL_PROGRAM = "/bin/bash"

# What an ended command printed is in the pipe already. This is for a filter it did not wait for (`> >(tee log)`).
AFTERMATH_SECONDS = 0.05

# Time for what is stopped to remove its lock files; an interrupt must still feel immediate.
END_GRACE_SECONDS = 0.3

# One argument may have 128 KiB on Linux (MAX_ARG_STRLEN); a longer command travels in a file without a name.
ARGUMENT_LIMIT_BYTES = 100_000

# More than any path; what comes after it is not one.
_FOLDER_LIMIT_BYTES = 8192


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    """As a shell says it: 128 and the signal's number for one that was killed."""
    was_reset: bool
    """Whether it went to a folder outside the working folders, so that the next one starts in the project again."""


class Shell:
    """Starts commands one by one or side by side; `close` ends all that they have left running."""

    def __init__(
        self,
        project: Path,
        *,
        environment: Mapping[str, str],
        session_id: str,
        folders: Sequence[Path] = (),
        preamble: str = "",
    ) -> None:
        """`folders` are allowed beside the project; `preamble` is shell text that runs before each command."""
        self.project = project
        self.cwd = project
        """Where the next command starts."""
        self.preamble = preamble
        self._folders = [Path(os.path.realpath(folder)) for folder in (project, *folders)]
        self._environment = _environment(environment, session_id)
        self._token = os.urandom(16).hex()
        self._count = 0
        self._lingering: list[Console] = []

    def start(self, command: str, spool: Spool) -> Command:
        """Start a command; ProcessError says why it could not be."""
        if not self._count:
            guard.add(self._token)  # if we are killed, the keeper ends whatever carries this token
        self._count += 1
        if not self.cwd.is_dir():  # a command has removed the folder it was in
            self.cwd = self.project
        return Command(self, command, spool, f"{self._token}-{self._count}")

    async def close(self) -> None:
        """End everything that commands have left running, daemons included."""
        if not self._count:
            return
        self._count = 0
        try:
            await undisturbed(in_thread(self._sweep, name="ending what commands left"))
        finally:
            for left in self._lingering:
                left.close()
            self._lingering.clear()

    def spawn(self, script: str, token: str) -> Spawn:
        """What to start for a script."""
        environment = {**self._environment, descendants.TOKEN_VARIABLE: self._chain()}
        return Spawn((SHELL_PROGRAM, "-c", script), self.cwd, environment, token)

    def keep(self, left: Console) -> None:
        """Go on reading for what a command left running, until it is silent or the session is over."""
        self._lingering = [one for one in self._lingering if not one.is_silent]
        self._lingering.append(left)

    def move(self, folder: str) -> bool:
        """Remember where a command went; False if that is outside the working folders."""
        path = Path(folder)
        if any(path == allowed or allowed in path.parents for allowed in self._folders):
            self.cwd = path
            return True
        self.cwd = self.project
        return False

    def _chain(self) -> str:
        outer = self._environment.get(descendants.TOKEN_VARIABLE)
        return f"{outer}:{self._token}" if outer else self._token

    def _sweep(self) -> None:
        try:
            descendants.end_all(self._token, None, grace_seconds=END_GRACE_SECONDS)
        finally:
            guard.drop(self._token)


class Command:
    """One command under way; made by `Shell.start`, and ended by exactly one of `finish` and `end`."""

    def __init__(self, shell: Shell, command: str, spool: Spool, token: str) -> None:
        self.spool = spool
        self._shell = shell
        self._note, theirs = os.pipe()
        body, long = _body(command)
        try:
            keep = (theirs,) if long is None else (theirs, long)
            script = _script(shell.preamble, body, theirs, keep)
            self._console = console.start(shell.spawn(script, token), on_chunk=spool.add, keep=keep)
        except BaseException:
            os.close(self._note)
            raise
        finally:
            os.close(theirs)
            if long is not None:
                os.close(long)

    async def wait(self, timeout_seconds: float | None) -> bool:
        """Wait for its end; False when the time is over."""
        return await self._console.wait(timeout_seconds) is not None

    async def finish(self, *, moves: bool) -> Ended:
        """Take the last output of a command that has ended, and, with `moves`, the folder it ended in."""
        await self._console.settle(limit_seconds=AFTERMATH_SECONDS)
        folder = self._read_note()
        code = self._console.exit_code
        if not self._console.let_go():
            self._shell.keep(self._console)
        self.spool.close()
        assert code is not None  # noqa: S101  # for the type checker: it has ended
        was_reset = moves and bool(folder) and not self._shell.move(folder)
        return Ended(128 - code if code < 0 else code, was_reset)

    async def end(self) -> None:
        """End it with everything it has started; also when the caller is cancelled meanwhile."""
        try:
            await self._console.end(grace_seconds=END_GRACE_SECONDS)
        finally:
            self._read_note()
            self.spool.close()

    def _read_note(self) -> str:
        """Read where the command ended, once; empty if it did not get to say so."""
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


def _environment(outer: Mapping[str, str], session_id: str) -> dict[str, str]:
    """What commands see besides the user's own variables; programs ask for these names."""
    return {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
        **outer,
        "AI_AGENT": "bridle-agent",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": session_id,
        "COREPACK_ENABLE_AUTO_PIN": "0",
        "GIT_EDITOR": "true",
        "SHELL": SHELL_PROGRAM,
    }


def _body(command: str) -> tuple[str, int | None]:
    """The command as one word for `eval`, and the descriptor that carries it if it is too long for an argument."""
    try:
        size_bytes = len(command.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ProcessError(
            "the command has characters that cannot be passed on (half of a surrogate pair)",
            remedy="Write the command without them.",
        ) from error
    if "\0" in command:
        raise ProcessError("the command has a NUL character in it", remedy="Write it as $'\\0' where it is needed.")
    if size_bytes <= ARGUMENT_LIMIT_BYTES:
        return _quote(command), None
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(command.encode("utf-8"))
        file.flush()
        fd = os.dup(file.fileno())
    return f'"$(</dev/fd/{fd})"', fd


def _quote(text: str) -> str:
    """Make it one word on one line, so that bash counts its lines from the first."""
    if "\n" not in text:
        return shlex.quote(text)
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _script(preamble: str, body: str, note: int, keep: Sequence[int]) -> str:
    """Run the command and, if it succeeds, say where it ended."""
    first = f"eval {_quote(preamble)}; " if preamble else ""
    # While the command runs our descriptors are closed: nothing that it starts can hold them.
    shut = " ".join(f"{fd}>&-" for fd in keep)
    return f"{first}eval {body} {shut}\ncase $? in 0) builtin pwd -P >&{note} 2>/dev/null; exit 0;; *) exit;; esac"
