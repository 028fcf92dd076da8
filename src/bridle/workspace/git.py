"""The program `git` in one folder: run as a list of words, never as a shell line, and never waiting for a person."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import GitError, UsageError
from bridle.ground.children.query import query
from bridle.workspace import read_git_files
from bridle.workspace.config import ASK, Config

# Adding a very large tree takes a minute on a slow disk; a git that takes longer waits for something.
LIMIT_SECONDS = 300.0

# The names of all files of the largest repositories that people work in.
OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024

# Commits that Bridle makes where the person has not told git who they are.
FALLBACK_NAME = "Bridle"
FALLBACK_ADDRESS = "bridle@localhost"

_NAME = re.compile(r"(?!/)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[A-Za-z0-9][A-Za-z0-9._/+-]*(?<![./])\Z")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_LAST_WORDS_CHARACTERS = 800


class Git:
    """Runs git in a folder, with an environment of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._environment = _quiet(os.environ if environment is None else environment)
        self._config = Config()
        self.trees: dict[bytes, str] = {}
        """The trees of indexes, by the digest of the index: what was seen once cannot change."""
        self.commits: dict[tuple[str, ...], str] = {}
        """Commits that were made for snapshots, by what is in them."""
        self.listings: dict[tuple[str, str, int | None], str] = {}
        """What was listed below a commit: its history cannot change."""
        self.uncovered: frozenset[bytes] = frozenset()
        """The digest of the last index in which no file is marked as one not to look at."""

    async def run(
        self,
        *words: str,
        given: bytes | None = None,
        accepts: tuple[int, ...] = (0,),
        variables: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run it; the exit code and what it printed. GitError where the code is not one of those accepted."""
        done = await query(
            ("git", *words),
            cwd=self.folder,
            environment={**self._environment, **(variables or {})},
            limit_seconds=LIMIT_SECONDS,
            limit_bytes=OUTPUT_LIMIT_BYTES,
            stdin=given,
            own_session=True,
        )
        if done.exit_code in accepts and done.exit_code is not None:
            return done.exit_code, done.stdout.decode("utf-8", "surrogateescape")
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()[-_LAST_WORDS_CHARACTERS:]
        ended = f"exited {done.exit_code}" if done.exit_code is not None else f"took over {LIMIT_SECONDS:g} seconds"
        if done.is_truncated:
            ended = f"printed over {OUTPUT_LIMIT_BYTES} bytes"
        raise GitError(
            f"`git {' '.join(words[:6])}` in {self.folder} {ended}: {said or 'no word of why'}",
            remedy="Run the same command there by hand to see what is wrong.",
            payload=done.exit_code,
        )

    async def text(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """What it printed, without the last line's end."""
        return (await self.run(*words, variables=variables))[1].rstrip("\n")

    async def names(self, *words: str, variables: Mapping[str, str] | None = None) -> list[str]:
        """The file names that it printed; the command must have been told to end each with NUL."""
        return [name for name in (await self.run(*words, variables=variables))[1].split("\0") if name]

    async def object(self, name: str) -> str | None:
        """The full id of a commit, branch or ref; None where there is none of that name."""
        try:
            return read_git_files.ref(self.folder, name.removesuffix("^{commit}"))
        except read_git_files.Unclear:
            pass
        code, text = await self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, accepts=(0, 1, 128))
        found = text.strip()
        return found if code == 0 and _OBJECT.match(found) else None

    async def head(self) -> str | None:
        """The commit that is checked out; None in a repository that has none yet."""
        try:
            return read_git_files.head(self.folder)
        except read_git_files.Unclear:
            return await self.object("HEAD^{commit}")

    async def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        try:
            return read_git_files.commit_of(self.folder, commit)[0]
        except read_git_files.Unclear:
            return await self.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")

    async def parents_of(self, commit: str) -> tuple[str, ...]:
        """The parents of a commit."""
        try:
            return read_git_files.commit_of(self.folder, commit)[1]
        except read_git_files.Unclear:
            return tuple((await self.text("rev-list", "--parents", "-n", "1", commit)).split()[1:])

    async def branch(self) -> str | None:
        """The branch that is checked out; None where a commit is by itself."""
        try:
            found = read_git_files.checked_out(self.folder)
        except read_git_files.Unclear:
            pass
        else:
            return found.removeprefix("refs/heads/") if found.startswith("refs/") else None
        code, text = await self.run("symbolic-ref", "--quiet", "--short", "HEAD", accepts=(0, 1))
        return text.strip() if code == 0 else None

    async def top(self) -> Path:
        """The top folder of the working copy; UsageError outside of a repository."""
        try:
            return Path(await self.text("rev-parse", "--show-toplevel"))
        except GitError as error:
            if "must be run in a work tree" in error.message:
                raise UsageError(
                    f"{self.folder} is a repository without files", remedy="Clone it, and work in the clone."
                ) from error
            raise UsageError(f"{self.folder} is not inside a git repository", remedy="Run `git init` there.") from error

    async def common_folder(self) -> Path:
        """The folder that all worktrees of the repository share."""
        return Path(await self.text("rev-parse", "--path-format=absolute", "--git-common-dir"))

    async def git_path(self, name: str) -> Path:
        """Where git keeps something of this working copy."""
        return Path(await self.text("rev-parse", "--path-format=absolute", "--git-path", name))

    async def index_path(self) -> Path:
        """Where git keeps what is staged in this working copy."""
        try:
            return Path(os.path.abspath(read_git_files.git_folders(self.folder)[0])) / "index"
        except read_git_files.Unclear:
            return await self.git_path("index")

    async def settings(self) -> Mapping[str, str]:
        """What git is told by all its configuration files; names in the form that git prints."""
        known = self._config.known()
        if known is not None:
            return known
        return self._config.learn((await self.run(*ASK))[1], self.folder, self._environment)

    async def is_plain(self) -> bool:
        """Whether nothing is to be done with new objects and refs but to write them."""
        known = await self.settings()
        is_ours_alone = known.get("core.sharedrepository", "false").lower() in ("false", "0", "umask", "no", "off")
        return is_ours_alone and known.get("core.logallrefupdates", "").lower() != "always"

    async def identity(self) -> list[str]:
        """Flags that name an author where the person has not."""
        if "user.email" in await self.settings():
            return []
        return ["-c", f"user.name={FALLBACK_NAME}", "-c", f"user.email={FALLBACK_ADDRESS}"]


def check_branch(name: str) -> str:
    """Refuse what is no name of a branch or could be taken for a flag."""
    if len(name) > 200 or not _NAME.match(name):
        raise UsageError(
            f"{name!r} is no name for a branch", remedy="Use letters, digits, '.', '_', '+', '-' and single slashes."
        )
    return name


def _quiet(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which git asks nobody, pages nothing, and looks at no repository but that of its folder.

    It runs no hook of the repository, also none for a ref or an index that was written, and takes no object for
    another one.
    """
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in _KEPT}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": "/dev/null",
        "LC_ALL": "C",
    }


# What a person sets for every command. Others, as GIT_DIR and GIT_INDEX_FILE, would lead us to another repository.
_KEPT = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_SSH_COMMAND",
    }
)
