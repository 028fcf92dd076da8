"""The worktrees of a run: where they are, what is in them, and what is known of them.

What is known of one (that it is whole, what its setup was for, what the setup made) is kept in git's own folder for it,
and goes with it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import git_folder
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import worktree
from bridle.workspace.git import Git
from bridle.workspace.snapshot import HONEST, add_all
from bridle.workspace.worktree import AGENTS_FOLDER

NOTE = "bridle-copy.json"
# Where checks and agents in a worktree find the person's own working copy, and what git does not keep in it.
REPOSITORY_VARIABLE = "BRIDLE_REPOSITORY"
# Variables that say where programs and code come from; in a worktree they come from there.
_LEADING = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "CONDA_PREFIX", "CARGO_TARGET_DIR", "PWD", "OLDPWD")
_OWN_CHECK = Path(".ralph") / "check"
# A git folder may be a file that names another place, in one line.
_LINK_LIMIT_BYTES = 64 * 1024
_CHECK_LIMIT_BYTES = 8 * 1024 * 1024


def name_of(run: str, worker: int | None = None) -> str:
    """What a worktree of a run is called."""
    return run.lower() if worker is None else f"{run.lower()}-{worker}"


def folder_of(repository: Path, run: str, worker: int | None = None) -> Path:
    """Where it is."""
    return repository.resolve() / AGENTS_FOLDER / name_of(run, worker)


def in_worktree(context: RunContext, worker: int | None = None) -> RunContext:
    """The context of a run in a worktree of its repository; that worktree need not be there yet."""
    folder = folder_of(context.folder, context.run, worker)
    path = context.plan.path
    if path is not None and Path(path).is_relative_to(context.folder):
        path = str(folder / Path(path).relative_to(context.folder))
    made = replace(
        context,
        git=Git(folder, context.environment),
        folder=folder,
        repository=context.folder,
        worker=worker,
        plan=replace(context.plan, path=path),
    )
    return made.with_variables(
        {
            **moved(
                {name: context.environment[name] for name in _LEADING if name in context.environment},
                context.folder,
                folder,
            ),
            REPOSITORY_VARIABLE: str(context.folder),
        }
    )


def is_there(folder: Path) -> bool:
    """Whether a worktree is there and whole."""
    return read_note(folder).get("is_whole") is True


def read_note(folder: Path) -> dict[str, Any]:
    """What is known of a worktree."""
    path = _note_path(folder)
    found = disk.read_json(path) if path is not None else None
    return found if isinstance(found, dict) else {}


def note(folder: Path, known: Mapping[str, Any]) -> None:
    """Keep more of what is known of a worktree."""
    path = _note_path(folder)
    if path is None:
        raise DiskError(f"{folder} is no worktree any more", remedy="`bridle resume` makes it anew.")
    disk.write_json_atomic(path, {**read_note(folder), **known})


def made_by_setup(folder: Path) -> tuple[str, ...]:
    """Files that the setup made there and that git does not ignore: they are no work of any task."""
    return tuple(str(name) for name in read_note(folder).get("made") or ())


async def stand_at(context: RunContext, head: str, tree: str | None = None) -> None:
    """Make a worker's worktree this commit, by itself on no branch, with these files on top of it."""
    await context.git.run("update-ref", "--no-deref", "-m", "bridle: a worker's copy", "HEAD", head)
    await put(context, tree or f"{head}^{{tree}}")


async def put(context: RunContext, tree: str) -> None:
    """Make the files those of a tree, and the index that of the commit; what git ignores stays, others go."""
    git = context.git
    await add_all(git, {})
    spared = made_by_setup(context.folder)
    if spared:
        given = b"".join(os.fsencode(name) + b"\0" for name in spared)
        await git.run("update-index", "--force-remove", "-z", "--stdin", given=given)
    await git.run(*HONEST, "read-tree", "--reset", "-u", tree)
    await git.run("read-tree", "HEAD")
    await git.run("update-index", "-q", "--refresh", accepts=(0, 1))


async def remove_all(git: Git, runs: Sequence[str]) -> list[str]:
    """Remove the worktrees of runs, with all that is in them; their branches stay. Gives the names."""
    names = tuple(run.lower() for run in runs)
    gone = []
    for one in await worktree.ours(git):
        if one.folder.parent.name == AGENTS_FOLDER.name and any(_is_of(one.name, name) for name in names):
            await worktree.remove(git, one)
            gone.append(one.name)
    return gone


def bring_own_check(repository: Path, folder: Path) -> None:
    """The person's own check is mostly in no commit; a worktree needs it all the same."""
    source, target = repository / _OWN_CHECK, folder / _OWN_CHECK
    if source.is_file() and not source.is_symlink() and not os.path.lexists(target):
        disk.make_private_folder(target.parent)
        mode = stat.S_IMODE(source.stat().st_mode)
        disk.write_atomic(target, disk.read_bounded(source, _CHECK_LIMIT_BYTES), mode=mode)


def moved(variables: Mapping[str, str], folder: Path, copy: Path) -> dict[str, str | None]:
    """Those of these variables that lead into a working copy, leading into another one instead."""
    found: dict[str, str | None] = {}
    for name, value in variables.items():
        parts = value.split(os.pathsep)
        made = [_below(part, str(folder), str(copy)) for part in parts]
        if made != parts:
            found[name] = os.pathsep.join(made)
    return found


def _below(part: str, folder: str, copy: str) -> str:
    return copy + part[len(folder) :] if part == folder or part.startswith(folder + "/") else part


def _is_of(name: str, run: str) -> bool:
    """Whether a worktree of that name is one of the run's, its workers' included."""
    number = name.removeprefix(f"{run}-")
    return name == run or (number != name and number.isdigit())


def _note_path(folder: Path) -> Path | None:
    """Where the note about a worktree is; None where it is none."""
    own = git_folder(folder) if (folder / ".git").is_file() else None
    return Path(own, NOTE) if own is not None and os.path.isdir(own) else None
