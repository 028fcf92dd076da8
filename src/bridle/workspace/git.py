"""Run `git` in one folder: without a shell, and without waiting for input from the user."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.errors import GitError, UsageError
from bridle.ground import clock
from bridle.ground.children.query import query
from bridle.ground.children.query_result import QueryResult
from bridle.ground.git_folder import repository_top
from bridle.ground.threads import in_thread
from bridle.workspace import git_command
from bridle.workspace.config import LIST_CONFIG, Config
from bridle.workspace.git_folder import damaged_files, move_head, read_git_files, special_files
from bridle.workspace.git_folder.index_file import Identity
from bridle.workspace.git_folder.tree_objects import KnownTrees

# The author of Bridle's commits where the user has not configured one.
FALLBACK_NAME = "Bridle"
FALLBACK_ADDRESS = "bridle@localhost"

_NAME = re.compile(r"(?!/)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[A-Za-z0-9][A-Za-z0-9._/+-]*(?<![./])\Z")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
# A name or address that git takes as it is: it strips punctuation at both ends.
_PLAIN_IDENTITY = re.compile(r"[^\W_](?:[^<>\x00-\x1f\x7f]*[^\W_])?")
# Git refuses a name of these characters alone.
_NO_NAME = " \t\n.,:;<>\"\\'"


class Git:
    """Runs git in a folder, in a controlled environment."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = git_command.quiet_environment(os.environ if environment is None else environment, folder)
        """The variables of every git that is run."""
        self._config = Config()
        self.trees: dict[Identity, str] = {}
        """Cached trees of the index."""
        self.unmarked: frozenset[Identity] = frozenset()
        """The last index without assume-unchanged and skip-worktree marks."""
        self.marks: tuple[Identity, dict[str, str]] | None = None
        """The last index with marks, and the marks, see `marks`."""
        self.recorded_marks: tuple[bytes, str] | None = None
        """The last marks that were written as a tree, and the tree."""
        self.own_indexes: frozenset[Identity] = frozenset()
        """The last index that was written from a look of our own: an agent can forge the stat data of any other."""
        self.has_attributes = False
        """Whether files with attributes were added or changed, so that a commit may have other bytes than the files."""
        self.without_attributes: frozenset[Identity] = frozenset()
        """The last index without such files."""
        self.files_indexes: dict[tuple[str, ...], Any] = {}
        """Private indexes of all files, see `files_index`."""
        self.files_lock = asyncio.Lock()
        """Held while one of them is used."""
        self.partial_trees: dict[tuple[str, ...], Any] = {}
        """The last tree without the user's untracked files, see `partial_tree`."""
        self.nested: Any = None
        """The nested repositories in the last tree that was protected, see `protect`."""
        self.looks = 0
        """How often the files were looked at."""
        self.handed_over: tuple[str, float] | None = None
        """Which effect looked at the files last, and until when they count as unchanged since then."""
        self.commits: dict[tuple[str, ...], str] = {}
        """Cached commits of snapshots, by their content."""
        self.huge: tuple[str, ...] = ()
        """Huge files that an earlier look has left out, see `add_files`."""
        self.left_out: tuple[str, ...] = ()
        """Files that git could not add at the last look, see `add_files`."""
        self.own_output: tuple[str, ...] | None = None
        """Untracked files that our own output goes to, see `own_output`; None before the first look."""
        self.blocking: dict[str, None] = {}
        """Named pipes that have blocked git, see `special_files`."""
        self.removes_blocking = False
        """Whether they are removed: only after an agent."""
        self.named_files: tuple[str, ...] = ()
        """Files of the working copy that the configuration names, see `programs_outside`."""
        self.true_tree: str | None = None
        """The tree of the last look: its objects had the content of their ids, see `forged_objects`."""
        self.forged: dict[str, str] = {}
        """Forged objects that were written again, each with the path of a file or folder."""
        self.known_trees = KnownTrees()
        """Content of trees, shared by the worktrees of a run."""
        self.listings: dict[tuple[str, str, int | None], str] = {}
        """Cached output of `git log`, by its range."""

    async def run(
        self,
        *words: str,
        stdin: bytes | None = None,
        accepts: tuple[int, ...] = (0,),
        variables: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run git; return exit code and output. Raise GitError for an exit code that is not accepted.

        It waits a few seconds for a lock that another git holds.
        """
        result = await self._query(words, stdin, variables)
        if git_command.find_lock(result) is not None:
            deadline = clock.monotonic() + git_command.LOCK_SECONDS
            while git_command.find_lock(result) is not None and clock.monotonic() < deadline:
                await asyncio.sleep(git_command.LOCK_POLL_SECONDS)
                result = await self._query(words, stdin, variables)
        return git_command.check_output(words, self.folder, result, accepts)

    async def _query(
        self, words: tuple[str, ...], stdin: bytes | None, variables: Mapping[str, str] | None
    ) -> QueryResult:
        timer = asyncio.get_running_loop().call_later(git_command.PATIENCE_SECONDS, self._search_blocking)
        try:
            return await query(
                ("git", *words),
                cwd=self.folder,
                environment={**self.environment, **(variables or {})},
                limit_seconds=git_command.LIMIT_SECONDS,
                limit_bytes=git_command.OUTPUT_LIMIT_BYTES,
                stdin=stdin,
                own_session=True,
            )
        finally:
            timer.cancel()

    def _search_blocking(self) -> None:
        """Search named pipes that git waits for, in a thread, and let it continue."""

        def search() -> None:
            for path in special_files.find_in_files(self.folder):
                self.blocking[os.path.relpath(path, self.folder)] = None
                special_files.unblock(path, removes=self.removes_blocking)

        in_thread(search, name="searching named pipes").add_done_callback(lambda done: done.exception())

    async def text(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Return the output without the last newline."""
        return (await self.run(*words, variables=variables))[1].rstrip("\n")

    async def names(self, *words: str, variables: Mapping[str, str] | None = None) -> list[str]:
        """Return the file names in the output of a command with -z."""
        return [name for name in (await self.run(*words, variables=variables))[1].split("\0") if name]

    async def object(self, name: str) -> str | None:
        """Return the full id of a commit, branch or ref; None if no such name exists."""
        try:
            return read_git_files.ref(self.folder, name.removesuffix("^{commit}"))
        except read_git_files.NeedsGit:
            pass
        code, text = await self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, accepts=(0, 1, 128))
        name = text.strip()
        return name if code == 0 and _OBJECT.match(name) else None

    async def head(self) -> str | None:
        """Return the commit that is checked out; None in a repository without commits."""
        try:
            return read_git_files.head(self.folder)
        except read_git_files.NeedsGit:
            return await self.object("HEAD^{commit}")

    async def tree_of(self, commit: str) -> str:
        try:
            return read_git_files.read_commit(self.folder, commit)[0]
        except read_git_files.NeedsGit:
            return await self.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")

    async def read_commit(self, commit: str) -> tuple[str, tuple[str, ...]]:
        """Return the tree and the parents of a commit."""
        try:
            return read_git_files.read_commit(self.folder, commit)
        except read_git_files.NeedsGit:
            tree, *parents = (await self.text("rev-parse", f"{commit}^{{tree}}", f"{commit}^@")).split()
            return tree, tuple(parents)

    async def parents_of(self, commit: str) -> tuple[str, ...]:
        try:
            return read_git_files.read_commit(self.folder, commit)[1]
        except read_git_files.NeedsGit:
            return tuple((await self.text("rev-list", "--parents", "-n", "1", commit)).split()[1:])

    async def branch(self) -> str | None:
        """Return the branch that is checked out; None for a detached HEAD."""
        try:
            return read_git_files.branch(self.folder)
        except read_git_files.NeedsGit:
            code, text = await self.run("symbolic-ref", "--quiet", "HEAD", accepts=(0, 1))
            return text.strip().removeprefix("refs/heads/") if code == 0 else None

    async def is_symbolic(self, ref: str) -> bool:
        """Return whether a branch, or a ref of Bridle's, names another ref: what is written to it moves that one."""
        try:
            return read_git_files.is_symbolic(self.folder, ref)
        except read_git_files.NeedsGit:
            return (await self.run("symbolic-ref", "--quiet", ref, accepts=(0, 1, 128)))[0] == 0

    async def move_head(self, commit: str, why: str, *, old: str | None = None) -> None:
        """Point the branch that is checked out, or a detached HEAD, to a commit; no ref that the branch names."""
        branch = await self.branch()
        ref = "HEAD" if branch is None else f"refs/heads/{branch}"
        if not await self._move_without_git(ref, commit, why, old):
            expected = [old] if old is not None else []
            await self.run("update-ref", "--no-deref", "-m", why, ref, commit, *expected)

    async def _move_without_git(self, ref: str, commit: str, why: str, old: str | None) -> bool:
        """Point the ref that is checked out to a commit; return False, without a change, where git is needed."""
        if not await self.is_plain():
            return False
        try:
            move = move_head.Move(commit, await self.signature("committer"), why)
            if ref == "HEAD":
                move_head.move_detached_head(self.folder, move, old=old)
            else:
                move_head.move_branch(self.folder, ref, move, old=old)
        except read_git_files.NeedsGit:
            return False
        return True

    async def top(self) -> Path:
        """Return the top folder of the working copy; raise UsageError outside of a repository."""
        try:
            return Path(await self.text("rev-parse", "--show-toplevel"))
        except GitError as error:
            if "must be run in a work tree" in error.message:
                raise UsageError(
                    f"{self.folder} is a bare repository", remedy="Clone it, and work in the clone."
                ) from error
            if "dubious ownership" in error.message:
                trusting = f"git config --global --add safe.directory {shlex.quote(str(self.folder))}"
                raise UsageError(
                    f"git does not work in {self.folder}, because another user owns it",
                    remedy=f"If you trust its files: {trusting}",
                ) from error
            damaged_files.refuse(repository_top(self.folder) or self.folder, then="the same command again")
            raise UsageError(f"{self.folder} is not inside a git repository", remedy="Run `git init` there.") from error

    async def common_folder(self) -> Path:
        """Return the git folder that all worktrees of the repository share."""
        try:
            return Path(os.path.realpath(read_git_files.git_folders(self.folder)[1]))
        except read_git_files.NeedsGit:
            return Path(await self.text("rev-parse", "--path-format=absolute", "--git-common-dir"))

    async def git_path(self, name: str) -> Path:
        """Return the path of a file in the git folder of this working copy."""
        return Path(await self.text("rev-parse", "--path-format=absolute", "--git-path", name))

    async def index_path(self) -> Path:
        """Return the path of the index of this working copy."""
        try:
            return Path(f"{os.path.abspath(read_git_files.git_folders(self.folder)[0])}/index")
        except read_git_files.NeedsGit:
            return await self.git_path("index")

    async def settings(self) -> Mapping[str, str]:
        """Return the effective git configuration, with names as git prints them."""
        cached = self._config.cached()
        if cached is not None:
            return cached
        return self._config.update((await self.run(*LIST_CONFIG))[1], self.folder, self.environment)

    async def all_settings(self) -> tuple[tuple[str, str], ...]:
        """Return the git configuration in order: of a name with several values, all of them."""
        await self.settings()
        return self._config.entries

    async def is_plain(self) -> bool:
        """Return whether objects and refs can be written directly: no shared permissions, no forced reflogs."""
        settings = await self.settings()
        is_private = settings.get("core.sharedrepository", "false").lower() in ("false", "0", "umask", "no", "off")
        return is_private and settings.get("core.logallrefupdates", "").lower() != "always"

    async def identity(self) -> list[str]:
        """Return flags that set the name and the address of an author where the user has configured none."""
        settings = await self.settings()
        flags = [] if settings.get("user.name", "").strip(_NO_NAME) else ["-c", f"user.name={FALLBACK_NAME}"]
        return flags if "user.email" in settings else [*flags, "-c", f"user.email={FALLBACK_ADDRESS}"]

    async def signature(self, role: str) -> str:
        """Return name, address and time of an `author` or `committer`, as git writes them into a commit.

        Raise NeedsGit where git would complete or change them.
        """
        settings = await self.settings()
        parts = []
        for part in ("name", "email"):
            variable = self.environment.get(f"GIT_{role.upper()}_{part.upper()}")
            value = variable or settings.get(f"{role}.{part}") or settings.get(f"user.{part}") or ""
            if not _PLAIN_IDENTITY.fullmatch(value):
                raise read_git_files.NeedsGit
            parts.append(value)
        if settings.get("i18n.commitencoding", "utf-8").lower() not in ("utf-8", "utf8"):
            raise read_git_files.NeedsGit
        now = clock.now()
        return f"{parts[0]} <{parts[1]}> {int(now.timestamp())} {now.astimezone(clock.local_zone()):%z}"


def check_branch(name: str) -> str:
    """Raise UsageError for a name that is not valid for a branch, or could be read as a flag."""
    if len(name) > 200 or not _NAME.match(name):
        raise UsageError(
            f"{name!r} is not a valid branch name",
            remedy="Use letters, digits, '.', '_', '+', '-' and single slashes.",
        )
    return name
