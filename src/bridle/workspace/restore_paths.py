"""Restore some files of a tree, byte for byte. Every other file stays, ignored or not; only empty folders may go."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bridle.workspace import exact_bytes, files_index, nested_git, private_indexes
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.git import Git

_REPOSITORY = "160000"


async def find_in_the_way(git: Git, tree: str, paths: Collection[str]) -> dict[str, list[str]]:
    """Return the paths that cannot be restored, each with the other files that are there."""
    entries = await _entries(git, tree, paths)
    return _find_in_the_way(git.folder, entries, paths)


async def restore_paths(git: Git, tree: str, paths: Collection[str], *, as_committed: bool = False) -> list[str]:
    """Make these files as they are in a tree, or missing as there; return those that are not so afterwards.

    `as_committed`: with the conversions of a checkout.
    """
    entries = await _entries(git, tree, paths)
    blocked = _find_in_the_way(git.folder, entries, paths)
    for name in paths:
        if name not in entries:
            remove_file(git.folder, name)
    files = {name: facts for name, facts in entries.items() if name not in blocked}
    repositories = [name for name in files if files[name].startswith(_REPOSITORY)]
    for name in repositories:
        await nested_git.check_out(git, name, files.pop(name).split()[2])
    differing = await _write(git, files, as_committed=as_committed) if files else []
    files_index.drop(git)
    remaining = [name for name in paths if name not in entries and is_file(git.folder, name)]
    return sorted({*blocked, *differing, *remaining})


def remove_file(folder: Path, name: str) -> None:
    """Remove a file or link, and the folders above it that are empty then."""
    if is_file(folder, name):
        (folder / name).unlink(missing_ok=True)
        _remove_empty_folders(folder, name)


def is_file(folder: Path, name: str) -> bool:
    """Return whether a file or link is there, and not behind a link."""
    try:
        mode = os.lstat(f"{folder}/{name}").st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISDIR(mode) and not is_behind_link(folder, name)


def is_behind_link(folder: Path, name: str) -> bool:
    """Return whether a folder on the way to a file is a link."""
    return any(os.path.islink(f"{folder}/{above}") for above in folders_above(name))


async def _write(git: Git, entries: Mapping[str, str], *, as_committed: bool) -> list[str]:
    """Write these files; return those that differ afterwards."""
    index = private_indexes.private_index_path(await git.index_path())
    own, flags = {"GIT_INDEX_FILE": str(index)}, [*await exact_bytes.flags(git), *NO_SHORTCUTS]
    lines = b"".join(os.fsencode(f"{facts}\t{name}") + b"\0" for name, facts in entries.items())
    try:
        # The attributes that say what is converted may be in one of these files: it is written before.
        for each in (flags, list(NO_SHORTCUTS)) if as_committed else (flags,):
            await git.run(*each, "update-index", "-z", "--index-info", stdin=lines, variables=own)
            await git.run(*each, "checkout-index", "--force", "--quiet", "--all", accepts=(0, 1, 128), variables=own)
        await git.run(*each, "update-index", "-q", "--really-refresh", accepts=(0, 1), variables=own)
        return await git.names(*each, "diff-files", "-z", "--name-only", variables=own)
    finally:
        private_indexes.remove_index(index)


async def _entries(git: Git, tree: str, paths: Collection[str]) -> dict[str, str]:
    wanted = frozenset(paths)
    listed = [line.partition("\t") for line in await git.names("ls-tree", "-r", "-z", "--full-tree", tree)]
    return {name: facts for facts, _, name in listed if name in wanted}


def _find_in_the_way(folder: Path, entries: Mapping[str, str], paths: Collection[str]) -> dict[str, list[str]]:
    removed = frozenset(paths).difference(entries)
    found = {}
    for name, facts in entries.items():
        above = (each for each in folders_above(name) if os.path.lexists(folder / each))
        others = [each for each in above if (folder / each).is_symlink() or not (folder / each).is_dir()]
        if not facts.startswith(_REPOSITORY):
            others += _files_below(folder, name)
        others = [each for each in others if each not in removed]
        if others:
            found[name] = others
    return found


def _files_below(folder: Path, name: str) -> Iterator[str]:
    """Yield the files in a folder."""
    if (folder / name).is_symlink():
        return
    for root, folders, files in os.walk(folder / name):
        links = [each for each in folders if os.path.islink(os.path.join(root, each))]
        yield from (os.path.relpath(os.path.join(root, each), folder) for each in (*files, *links))


def folders_above(name: str) -> list[str]:
    """Return the folders that a path is in, outermost first."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _remove_empty_folders(folder: Path, name: str) -> None:
    with suppress(OSError):
        for above in reversed(folders_above(name)):
            (folder / above).rmdir()
