"""Objects that git has lost, as after a power cut: missing ones, and loose objects whose files are empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import GitError
from bridle.workspace.git import Git

_PROMISOR = re.compile(r"remote\..+\.promisor", re.DOTALL)
_ID = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_FOLDER = re.compile(r"[0-9a-f]{2}")
_FILE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")


async def is_readable(git: Git, name: str) -> bool:
    """Return whether git can read the header of an object; of an empty file it cannot."""
    return (await git.run("cat-file", "-t", name, accepts=(0, 1, 128)))[0] == 0


async def has_trees(git: Git, commit: str) -> bool:
    """Return whether git can read a commit and all its trees."""
    words = ("ls-tree", "-r", "-t", "--name-only", "--full-tree", commit)
    return (await git.run(*words, accepts=(0, 1, 128)))[0] == 0


async def find_missing(git: Git, base: str, tip: str) -> list[str]:
    """Return objects that `tip` has and `base` has not, and that git cannot read.

    In a partial clone objects may be missing: there only the commit itself is read.
    """
    if tip == base or _is_partial_clone(await git.settings()):
        return [] if await is_readable(git, tip) else [tip]
    try:
        _, text = await git.run("rev-list", "--objects", "--missing=print", "--end-of-options", f"{base}..{tip}")
    except GitError as error:
        named = dict.fromkeys((tip, base, *_ID.findall(error.message)))
        return [name for name in named if not await is_readable(git, name)]
    objects = await git.common_folder() / "objects"
    names = [line.partition(" ")[0] for line in text.splitlines()]
    return [name.removeprefix("?") for name in names if name.startswith("?") or _is_empty(objects, name)]


async def remove_empty(git: Git) -> int:
    """Remove empty files of loose objects, which git takes for present and never writes again; return how many."""
    count = 0
    for folder in (await git.common_folder() / "objects").iterdir():
        if not _FOLDER.fullmatch(folder.name):
            continue
        for path in folder.iterdir():
            if _FILE.fullmatch(path.name) and path.stat().st_size == 0:
                path.unlink()
                count += 1
    return count


def _is_partial_clone(settings: Mapping[str, str]) -> bool:
    """Return whether git fetches missing objects: git from 2.24 on names the remote, and no extension."""
    return any(name == "extensions.partialclone" or _PROMISOR.fullmatch(name) for name in settings)


def _is_empty(objects: Path, name: str) -> bool:
    try:
        return (objects / name[:2] / name[2:]).stat().st_size == 0
    except OSError:
        return False  # in a pack
