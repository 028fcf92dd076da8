"""Worktrees of agents: what they begin with, when they are kept, and what git does not run."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bridle.agent.subagents.git_worktree import Worktrees
from bridle.errors import UserError

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "a")
    git(top, "config", "user.email", "a@b.c")
    (top / "a.txt").write_text("a\n")
    (top / "folder").mkdir()
    git(top, "add", "-A")
    git(top, "commit", "-qm", "one")
    return top


def worktrees(folder: Path, **more: str) -> Worktrees:
    return Worktrees(folder, ENVIRONMENT, **more)


def test_a_worktree_in_which_nothing_changed_is_removed_with_its_branch(repository: Path) -> None:
    made = worktrees(repository / "folder")

    async def run() -> None:
        worktree = await made.add("agent-a1")
        assert worktree.path == repository / ".claude/worktrees/agent-a1"
        assert git(worktree.path, "branch", "--show-current") == worktree.branch == "worktree-agent-a1"
        assert "locked" in git(repository, "worktree", "list", "--porcelain")
        assert not await made.leave(worktree)
        assert not worktree.path.exists()

    asyncio.run(run())
    assert git(repository, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize(
    "change",
    [
        ["touch", "new"],
        ["sh", "-c", "echo b > a.txt"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "two"],
        ["rm", ".git"],
    ],
    ids=["new", "changed", "committed", "broken"],
)
def test_a_worktree_with_changes_is_kept_and_unlocked(repository: Path, change: list[str]) -> None:
    made = worktrees(repository)

    async def run() -> None:
        worktree = await made.add("agent-a1")
        subprocess.run(change, cwd=worktree.path, check=True, timeout=60)
        assert await made.leave(worktree)
        assert (worktree.path / "a.txt").exists()

    asyncio.run(run())
    assert "locked" not in git(repository, "worktree", "list", "--porcelain")


def test_commits_on_its_branch_keep_a_worktree_that_went_elsewhere(repository: Path) -> None:
    made = worktrees(repository)

    async def run() -> bool:
        worktree = await made.add("agent-a1")
        git(worktree.path, "commit", "-q", "--allow-empty", "-m", "two")
        git(worktree.path, "checkout", "-q", "--detach", worktree.base)
        return await made.leave(worktree)

    assert asyncio.run(run())


def test_an_interrupted_beginning_leaves_nothing(repository: Path, tmp_path: Path) -> None:
    made, wrapper = tmp_path / "made", tmp_path / "bin/git"
    os.mkfifo(made)
    wrapper.parent.mkdir()
    real = shutil.which("git")
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*) "{real}" "$@"; echo > "{made}"; exec sleep 1000;; esac\n'
        f'exec "{real}" "$@"\n'
    )
    wrapper.chmod(0o755)
    environment = {**ENVIRONMENT, "PATH": f"{wrapper.parent}:{ENVIRONMENT['PATH']}"}

    async def run() -> None:
        adding = asyncio.create_task(Worktrees(repository, environment).add("agent-a1"))
        await asyncio.to_thread(made.read_text)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    asyncio.run(run())
    assert not (repository / ".claude/worktrees/agent-a1").exists()
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(repository, "branch", "--format=%(refname:short)") == "main"


def test_several_begin_at_once(repository: Path) -> None:
    made = worktrees(repository)

    async def run() -> None:
        found = await asyncio.gather(*(made.add(f"agent-{number}") for number in range(5)))
        assert not any(await asyncio.gather(*(made.leave(worktree) for worktree in found)))

    asyncio.run(run())
    assert git(repository, "worktree", "list").count("\n") == 0


def test_it_begins_with_the_branch_of_the_remote_or_with_the_current_commit(repository: Path) -> None:
    git(repository, "clone", "-q", "--bare", ".", "../origin.git")
    git(repository, "remote", "add", "origin", "../origin.git")
    git(repository, "fetch", "-q")
    remote = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")

    async def base(**more: str) -> str:
        made = worktrees(repository, **more)
        worktree = await made.add("agent-a1")
        await made.leave(worktree)
        return worktree.base

    assert asyncio.run(base()) == remote
    assert asyncio.run(base(base="head")) == git(repository, "rev-parse", "HEAD") != remote


def test_git_runs_nothing_that_the_repository_names(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"touch {mark}; false")
    git(repository, "config", "filter.x.smudge", f"touch {mark}; cat")
    git(repository, "config", "filter.x.clean", f"touch {mark}; cat")
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text("* filter=x\n")

    async def run() -> None:
        made = worktrees(repository)
        worktree = await made.add("agent-a1")
        (worktree.path / "a.txt").write_text("b\n")
        assert await made.leave(worktree)

    asyncio.run(run())
    assert not mark.exists()


def test_a_configuration_that_is_not_listed_whole_starts_nothing(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    padding = "".join(f"\tname{number} = {'x' * 1000}\n" for number in range(1100))
    with (repository / ".git/config").open("a") as config:
        config.write(f'[padding]\n{padding}[filter "x"]\n\tsmudge = touch {mark} && cat\n')
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text("* filter=x\n")
    with pytest.raises(UserError, match="is too long"):
        asyncio.run(worktrees(repository).add("agent-a1"))
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["no repository", "no commit", "a link"])
def test_what_cannot_have_a_worktree_says_why(tmp_path: Path, repository: Path, kind: str) -> None:
    folder, reason = tmp_path / "plain", "not in a git repository"
    folder.mkdir()
    if kind == "no commit":
        git(folder, "init", "-q")
        reason = 'Failed to resolve base branch "HEAD"'
    if kind == "a link":
        folder, reason = repository, "a link leads"
        (tmp_path / "elsewhere").mkdir()
        (repository / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=reason):
        asyncio.run(worktrees(folder).add("agent-a1"))
    assert not list((tmp_path / "elsewhere").glob("*"))
