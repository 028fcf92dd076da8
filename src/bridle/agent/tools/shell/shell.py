"""The session's shell: a new bash for each command, with the working directory kept between them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.agent.tools.shell.output_spool import OutputSpool
from bridle.agent.tools.shell.running_command import Leftover, RunningCommand
from bridle.ground import ids

# Commands are written for bash, so they run in bash, whatever shell the user prefers.
BASH = "/bin/bash"


class Shell:
    """Starts commands, also concurrently; `close` ends all processes that they left running."""

    def __init__(
        self,
        project: Path,
        *,
        environment: Mapping[str, str],
        session_id: str,
        folders: Sequence[Path] = (),
    ) -> None:
        """Allow `folders` beside the project."""
        self.project = project
        self.cwd = project
        """The directory of the next command."""
        self._folders = [Path(os.path.realpath(folder)) for folder in (project, *folders)]
        self._environment = _environment(environment, session_id)
        self._token = f"{ids.USER_PREFIX}{ids.new_token()}"
        self._count = 0
        self._left: list[Leftover] = []

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of commands."""
        return self._environment

    def export(self, variables: Mapping[str, str]) -> None:
        """Add variables for the commands that follow."""
        self._environment.update(variables)

    def start(self, command: str, spool: OutputSpool) -> RunningCommand:
        """Start a command; raise ProcessError if it cannot start."""
        # Imported late: a session without commands does not need it.
        from bridle.agent.tools.shell.run_command import Command, is_supervised
        from bridle.ground.descendants import keeper_client, terminate

        # If we are killed, the supervisors or else the keeper end all processes of the commands. An outer run of
        # Bridle does it too: a second keeper would only cost its start.
        is_inner = terminate.TOKEN_VARIABLE in self._environment
        if not self._count and not is_inner and not is_supervised(self._environment):
            keeper_client.add(self._token)
        self._count += 1
        if not self.cwd.is_dir():  # a command has removed its own directory
            self.cwd = self.project
        return Command(
            (self._environment["SHELL"], "-c"),
            command,
            spool,
            cwd=self.cwd,
            environment=self._environment,
            tokens=(self._token, f"{self._token}-{self._count}"),
            on_folder=self._move,
            on_left=self._keep,
        )

    async def close(self) -> None:
        """End all processes that commands left running, daemons included."""
        if not self._count:
            return
        from bridle.agent.tools.shell.run_command import end_by_token, end_leftovers, is_supervised

        self._count = 0
        try:
            if is_supervised(self._environment):
                await end_leftovers(self._left)
            else:
                await end_by_token(self._token)
        finally:
            for left in self._left:
                left.close()
            self._left.clear()

    def _keep(self, left: Leftover) -> None:
        """Keep reading the output of leftover processes until it is closed or the session ends."""
        for over in [command for command in self._left if command.is_over]:
            over.close()
            self._left.remove(over)
        self._left.append(left)

    def _move(self, folder: str) -> bool:
        """Set the working directory to where a command ended; return False if that is not allowed."""
        path = Path(folder)
        if any(path == allowed or allowed in path.parents for allowed in self._folders):
            self.cwd = path
            return True
        self.cwd = self.project
        return False


def _environment(outer: Mapping[str, str], session_id: str) -> dict[str, str]:
    """Return the variables of commands: the user's, and those by which programs recognize the agent."""
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
    """Return the path of bash; some systems (NixOS) have it elsewhere."""
    if os.path.exists(BASH):
        return BASH
    import shutil

    return shutil.which("bash", path=path) or BASH
