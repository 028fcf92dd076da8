"""The marks assume-unchanged and skip-worktree of a user's files: read, kept in snapshots, set again.

A file that is marked skip-worktree and is not on the disk is left out of the working copy, as in a sparse checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bridle.ground import disk
from bridle.workspace import exact_bytes
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file, read_git_files
from bridle.workspace.git_folder.index_file import Identity

FILE = "marks.json"
_SKIPPED = frozenset("Ss")
_TRUE = frozenset({"", "true", "yes", "on", "1"})
# A list of all files of a large repository.
_PATTERNS_LIMIT_BYTES = 64 * 1024 * 1024


class Marks(Struct, frozen=True):
    """The marked files of an index."""

    tags: Mapping[str, str] = field(default_factory=dict)
    """The letter of each in `git ls-files -v`: in lower case for assume-unchanged, S or s for skip-worktree."""
    absent: frozenset[str] = frozenset()
    """Marked files that are left out of the working copy."""
    patterns: str = ""
    """The digest of what a sparse checkout contains; empty where the checkout is not sparse."""

    def __bool__(self) -> bool:
        return bool(self.tags)


def find_absent(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Return the names that are not on the disk. A sparse checkout leaves out whole folders, of many files each."""
    folders: dict[str, bool] = {}

    def is_there(name: str) -> bool:
        above = name.rpartition("/")[0]
        if above and above not in folders:
            folders[above] = os.path.lexists(f"{folder}/{above}")
        return (not above or folders[above]) and os.path.lexists(f"{folder}/{name}")

    return frozenset(name for name in names if not is_there(name))


def find_present(folder: Path, names: frozenset[str]) -> frozenset[str]:
    """Return the names that are on the disk."""
    return names - find_absent(folder, names)


def find_left_out(folder: Path, tags: Mapping[str, str]) -> frozenset[str]:
    """Return the marked files that are left out of the working copy."""
    return find_absent(folder, (name for name, tag in tags.items() if tag in _SKIPPED))


async def read_tags(git: Git, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the marked files of an index, each with its letter."""
    lines = await git.names("ls-files", "-v", "-z", variables=variables)
    return {line[2:]: line[0] for line in lines if line[0] == "S" or line[0].islower()}


async def read(git: Git) -> Marks:
    """Return the marks of the working copy; those of an index that was read before are cached."""
    identity = index_file.identify(await git.index_path())
    if identity is None or identity in git.unmarked:
        return Marks(patterns=await _patterns(git))
    if git.marks is None or git.marks[0] != identity:
        git.marks = identity, await read_tags(git, {})
    tags = git.marks[1]
    absent, patterns = find_left_out(git.folder, tags), await _patterns(git)
    expects = (await git.settings()).get("sparse.expectfilesoutsideofpatterns", "false").lower() in _TRUE
    if (
        patterns and not expects
    ):  # git itself removes the mark of a file that is there, with its next change of the index
        shown = {name: "h" for name, tag in tags.items() if tag == "s" and name not in absent}
        tags = {name: tag for name, tag in tags.items() if tag not in _SKIPPED or name in absent} | shown
    return Marks(tags, absent, patterns)


async def _patterns(git: Git) -> str:
    settings = await git.settings()
    if settings.get("core.sparsecheckout", "false").lower() not in _TRUE:
        return ""
    try:
        path = f"{read_git_files.git_folders(git.folder)[0]}/info/sparse-checkout"
    except read_git_files.NeedsGit:
        path = str(await git.git_path("info/sparse-checkout"))
    data = disk.read_if_exists(Path(path), _PATTERNS_LIMIT_BYTES) or b""
    return hashlib.sha256(data).hexdigest()


async def record(git: Git) -> str:
    """Write the marks of the working copy as a tree; return its id, which is empty for no marks."""
    marks = await read(git)
    return await write(git, marks) if marks else ""


async def write(git: Git, marks: Marks) -> str:
    """Write marks as a tree with one file; return its id, which is empty for no marks."""
    if not marks:
        return ""
    value = {"tags": dict(sorted(marks.tags.items())), "absent": sorted(marks.absent), "patterns": marks.patterns}
    data = json.dumps(value, indent=0).encode("ascii")  # names that are not UTF-8 survive as escapes
    if git.recorded_marks is None or git.recorded_marks[0] != data or not _has(git, git.recorded_marks[1]):
        _, blob = await git.run("hash-object", "-w", "--stdin", "--no-filters", stdin=data)
        line = f"100644 blob {blob.strip()}\t{FILE}\n".encode("ascii")
        git.recorded_marks = data, (await git.run("mktree", stdin=line))[1].strip()
    return git.recorded_marks[1]


def _has(git: Git, name: str) -> bool:
    return read_git_files.has_loose_object(git.folder, name)


async def load(git: Git, tree: str) -> Marks | None:
    """Return the marks that a tree records; None for an empty id, or one that git cannot read."""
    if not tree:
        return None
    code, text = await git.run("cat-file", "blob", f"{tree}:{FILE}", accepts=(0, 128))
    try:
        return msgspec.convert(json.loads(text), Marks) if code == 0 else None
    except (ValueError, msgspec.ValidationError):
        return None


def merge(wanted: Marks | None, now: Marks) -> Marks:
    """Return the marks after a restore: recorded ones, and others of now.

    Where the user has changed what a sparse checkout contains, it is as now.
    """
    if wanted is None:
        return now
    if wanted.patterns == now.patterns:
        return replace(wanted, tags={**now.tags, **wanted.tags})
    assumed = {name: "h" for name, tag in wanted.tags.items() if tag.islower()}
    return replace(now, tags={**assumed, **now.tags})


async def carry(git: Git, tree: str, before: str, after: str) -> str:
    """Return the tree of marks with the changes between two others."""
    if before == after or tree == before:
        return tree if before == after else after
    old, first, last = [await load(git, each) or Marks() for each in (tree, before, after)]
    changed = {name for name in {*first.tags, *last.tags} if first.tags.get(name) != last.tags.get(name)}
    tags = {name: tag for name, tag in old.tags.items() if name not in changed}
    tags |= {name: last.tags[name] for name in changed if name in last.tags}
    patterns = last.patterns if first.patterns != last.patterns else old.patterns
    return await write(git, Marks(tags, (old.absent - changed) | (last.absent & changed), patterns))


async def clear(git: Git, variables: Mapping[str, str], source: Identity | None) -> frozenset[str]:
    """Clear the marks of a copy of an index, except those of files that are left out; return these files.

    The marks are cached, as those of the index `source`.
    """
    tags = await read_tags(git, variables)
    if source is not None and tags:
        git.marks = source, tags
    elif source is not None:
        git.unmarked = frozenset({source})
    absent = find_left_out(git.folder, tags)
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        await _update(git, variables, flag, [name for name in tags if name not in absent])
    return absent


async def show(git: Git, variables: Mapping[str, str], names: Sequence[str]) -> None:
    """Let these files be part of the working copy again."""
    await _update(git, variables, "--no-skip-worktree", names)


async def show_present(git: Git, variables: Mapping[str, str], left_out: frozenset[str]) -> frozenset[str]:
    """Let git see those of these files that are on the disk now; return the others."""
    present = find_present(git.folder, left_out)
    await show(git, variables, sorted(present))
    return left_out - present


async def set_marks(git: Git, variables: Mapping[str, str], tags: Mapping[str, str]) -> None:
    """Mark those of these files that are in an index."""
    if tags:
        tracked = [name for name in await git.names("ls-files", "-z", variables=variables) if name in tags]
        await _update(git, variables, "--assume-unchanged", [name for name in tracked if tags[name].islower()])
        await _update(git, variables, "--skip-worktree", [name for name in tracked if tags[name] in _SKIPPED])


async def set_again(git: Git, before: Marks, index_tree: str | None = None) -> list[str]:
    """Set marks again that a program has cleared; return the files that were still in the index.

    `index_tree`: the tree of the index before, from which a marked file that was removed from the index is added again.
    A file that was left out of the working copy and is there now, or is not in the index any more, stays so. One that
    was there, is marked skip-worktree and is gone was deleted: without the mark git sees that.
    """
    if not before:
        return []
    now, own = await read(git), {"GIT_INDEX_FILE": str(await git.index_path())}
    deleted = find_left_out(git.folder, before.tags) - before.absent
    await show(git, own, sorted(deleted & now.absent))
    others = deleted | find_present(git.folder, before.absent)
    lost = {name: tag for name, tag in before.tags.items() if now.tags.get(name) != tag and name not in others}
    if not lost:
        return []
    tracked = {*await git.names("ls-files", "-z")}
    gone = {*lost} - tracked - before.absent
    if gone and index_tree is not None:
        listed = await git.names("ls-tree", "-r", "-z", "--full-tree", index_tree)
        lines = (os.fsencode(line) + b"\0" for line in listed if line.partition("\t")[2] in gone)
        await git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
    await set_marks(git, own, lost)
    return sorted(tracked.intersection(lost))


async def follow_renames(git: Git, tags: Mapping[str, str], before: str, after: str) -> dict[str, str]:
    """Return the new names of marked files that were renamed between two trees or commits, with their marks."""
    if not {*tags} - find_left_out(git.folder, tags):
        return {}
    words = ("diff-tree", "-r", "-z", "--find-renames", "--diff-filter=R", "--name-status", before, after)
    fields = await git.names(*words)
    return {new: tags[old] for old, new in zip(fields[1::3], fields[2::3], strict=True) if old in tags}


async def _update(git: Git, variables: Mapping[str, str], flag: str, names: Sequence[str]) -> None:
    if names:
        stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
        words = (*await exact_bytes.flags(git), *NO_SHORTCUTS, "update-index", flag, "-z", "--stdin")
        await git.run(*words, stdin=stdin, variables=variables)
