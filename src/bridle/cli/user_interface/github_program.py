"""GitHub's own program, `gh`: the only way to GitHub, with the user's login."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.errors import MachineError, UsageError
from bridle.ground import program_path
from bridle.ground.children.capture import capture
from bridle.wire.mask import Mask, secret_values

PROGRAM = "gh"
# A request takes a second or two; with a slow network and a page of a hundred issues more.
LIMIT_SECONDS = 120.0
_SHOWN_CHARACTERS = 500


def find_github_program(environment: Mapping[str, str], folder: Path) -> str | None:
    """Return the path of `gh`, which no agent can have written; None if it is not installed."""
    return program_path.find_outside(PROGRAM, environment, folder)


class GitHub:
    """`gh`, started in a repository."""

    def __init__(self, program: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._program = program
        self._folder = folder
        self._environment = {**program_path.outside_environment(environment, folder), "GH_PROMPT_DISABLED": "1"}

    @classmethod
    def find(cls, folder: Path, environment: Mapping[str, str]) -> GitHub:
        """Return the installed program. Raises UsageError without one."""
        program = find_github_program(environment, folder)
        if program is None:
            remedy = "Install GitHub's program gh, and log in with `gh auth login`."
            raise UsageError("gh is not installed, or only where an agent can write", remedy=remedy)
        return cls(program, folder, environment)

    async def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Run a command and return what it prints. Raises MachineError with its message if it fails."""
        done = await capture(
            (self._program, *arguments),
            cwd=self._folder,
            environment=self._environment,
            limit_seconds=LIMIT_SECONDS,
            stdin=None if stdin is None else stdin.encode("utf-8", "replace"),
        )
        if done.exit_code == 0:
            return done.stdout.decode("utf-8", "replace")
        words = Mask(secret_values(self._environment)).apply(done.stderr.decode("utf-8", "replace").strip())
        reason = words[-_SHOWN_CHARACTERS:] or f"exit code {done.exit_code}"
        raise MachineError(
            f"`gh {' '.join(arguments[:2])}` failed: {reason}",
            remedy="Try it yourself; `gh auth status` says who you are.",
        )

    async def json(self, *arguments: str) -> Any:
        """Run a command that prints JSON."""
        text = await self.run(*arguments)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MachineError(f"`gh {' '.join(arguments[:2])}` did not print JSON: {error}") from error
