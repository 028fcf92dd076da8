"""Run `git` and wait for it, without an event loop: `bridle status` is started often, and importing asyncio is slow."""

from __future__ import annotations

import os

from bridle.ground.children.blocking_query import blocking_query
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.quick_path import Path
from bridle.workspace import git_command
from bridle.workspace.git_folder import read_git_files, special_files


class BlockingGit:
    """Runs git in a folder, in the environment that every git of Bridle has."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = git_command.quiet_environment(environment, folder)
        """The variables of every git that is run."""

    def run(self, *words: str, accepts: tuple[int, ...] = (0,)) -> tuple[int, str]:
        """Run git; return exit code and output. Raise GitError for an exit code that is not accepted."""
        result = blocking_query(
            ("git", "-C", os.fspath(self.folder), *words),
            environment=self.environment,
            limit_seconds=git_command.LIMIT_SECONDS,
            limit_bytes=git_command.OUTPUT_LIMIT_BYTES,
            patience_seconds=git_command.PATIENCE_SECONDS,
            on_patience=self._unblock,
        )
        return git_command.check_output(words, self.folder, result, accepts)

    def _unblock(self) -> None:
        """Let git continue that waits for a named pipe."""
        for path in special_files.find_in_files(self.folder):
            special_files.unblock(path, removes=False)

    def names(self, *words: str) -> list[str]:
        """Return the file names in the output of a command with -z."""
        return [name for name in self.run(*words)[1].split("\0") if name]

    def branch(self) -> str | None:
        """Return the branch that is checked out; None for a detached HEAD."""
        try:
            return read_git_files.branch(self.folder)
        except read_git_files.NeedsGit:
            code, text = self.run("symbolic-ref", "--quiet", "HEAD", accepts=(0, 1))
            return text.strip().removeprefix("refs/heads/") if code == 0 else None
