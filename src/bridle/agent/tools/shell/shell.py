"""The shell that commands run in: a new bash for each, the folder kept between them, nothing left at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.agent.tools.shell.output_spool import OutputSpool
from bridle.agent.tools.shell.running_command import LeftoverOutput, RunningCommand

# Commands are written for bash, so they run in bash, whatever shell the user prefers.
BASH = "/bin/bash"


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
        self._left: list[LeftoverOutput] = []

    def start(self, command: str, spool: OutputSpool) -> RunningCommand:
        """Start a command; ProcessError says why it could not be."""
        # Not at the top of the file: a session that runs no command need not load what runs them.
        from bridle.agent.tools.shell.run_command import Command
        from bridle.ground.descendants import keeper_client, terminate

        # If we are killed, the keeper ends whatever carries this token. A run of Bridle around us does so by its
        # own token, which all that we start carries too: then a second keeper would only cost its start.
        if not self._count and terminate.TOKEN_VARIABLE not in self._environment:
            keeper_client.add(self._token)
        self._count += 1
        if not self.cwd.is_dir():  # a command has removed the folder it was in
            self.cwd = self.project
        return Command(
            (self._environment["SHELL"], "-c"),
            command,
            spool,
            cwd=self.cwd,
            environment=self._environment,
            tokens=(self._token, f"{self._token}-{self._count}"),
            preamble=self.preamble,
            on_folder=self._move,
            on_left=self._keep,
        )

    async def close(self) -> None:
        """End everything that commands have left running, daemons included."""
        if not self._count:
            return
        from bridle.agent.tools.shell.run_command import end_leftovers

        self._count = 0
        try:
            await end_leftovers(self._token)
        finally:
            for left in self._left:
                left.close()
            self._left.clear()

    def _keep(self, left: LeftoverOutput) -> None:
        """Go on reading for what a command left running, until it is silent or the session is over."""
        self._left = [one for one in self._left if not one.is_silent]
        self._left.append(left)

    def _move(self, folder: str) -> bool:
        """Remember where a command went; False if that is outside the working folders."""
        path = Path(folder)
        if any(path == allowed or allowed in path.parents for allowed in self._folders):
            self.cwd = path
            return True
        self.cwd = self.project
        return False


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
        "SHELL": _bash(outer.get("PATH", os.defpath)),
    }


def _bash(path: str) -> str:
    """The bash of this machine; some systems keep all their programs elsewhere."""
    if os.path.exists(BASH):
        return BASH
    import shutil

    return shutil.which("bash", path=path) or BASH
