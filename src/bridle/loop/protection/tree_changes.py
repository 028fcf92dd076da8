"""Files that differ between two trees, and their texts."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from msgspec import Struct

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.tree_objects import Entry, Trees

# Git's mode of a submodule or nested repository.
REPOSITORY = "160000"
# A longer file is generated and has no tests.
FILE_BYTES = 1024 * 1024
# The most bytes that one git process prints.
BATCH_BYTES = 4 * 1024 * 1024


class Change(Struct, frozen=True):
    """One file that differs between two trees."""

    path: str
    mode: str
    before: str
    after: str
    old_mode: str = ""

    @property
    def is_repository(self) -> bool:
        """Whether it is or was the commit of a nested repository."""
        return REPOSITORY in (self.mode, self.old_mode)

    @property
    def is_gone(self) -> bool:
        """Whether only the first tree has it."""
        return set(self.after) == {"0"}

    @property
    def is_new(self) -> bool:
        """Whether only the second tree has it."""
        return set(self.before) == {"0"}


async def changes_since(context: RunContext, before: str, after: str, *, leave: Collection[str]) -> list[Change]:
    """Return the files that differ between two trees or commits, except `leave`."""
    if before == after:
        return []
    skipped = frozenset(leave)
    try:
        changes = _without_git(context, before, after)
    except NeedsGit:
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
        fields = await context.git.names(*words, before, after)
        changes = [
            Change(path, facts.split()[1], facts.split()[2], facts.split()[3], facts.split()[0].removeprefix(":"))
            for facts, path in zip(fields[::2], fields[1::2], strict=True)
        ]
    return [change for change in changes if change.path not in skipped]


def _without_git(context: RunContext, before: str, after: str) -> list[Change]:
    """Return the files that differ, from trees that can be read without git; raise NeedsGit for others."""
    trees = Trees(context.git.folder, context.git.known_trees)
    old, new = trees.root_of(before), trees.root_of(after)
    absent = Entry(b"000000", "0" * len(new))
    return [
        Change(os.fsdecode(path), to.mode.decode(), of.object, to.object, of.mode.decode())
        for path, of, to in (
            (found.path, found.before or absent, found.after or absent) for found in trees.differences(old, new)
        )
    ]


async def texts_of(context: RunContext, objects: Collection[str]) -> dict[str, str]:
    """Return the texts of these objects, without large ones."""
    wanted = sorted(name for name in objects if set(name) != {"0"})
    stdin = "".join(f"{name}\n" for name in wanted).encode()
    form = "%(objectname) %(objecttype) %(objectsize)"
    _, listed = await context.git.run("cat-file", f"--batch-check={form}", stdin=stdin) if wanted else (0, "")
    texts: dict[str, str] = {}
    batch: list[str] = []
    size_bytes = 0
    for name, kind, size in (line.split() for line in listed.splitlines()):
        if kind != "blob" or int(size) > FILE_BYTES:
            continue
        if size_bytes + int(size) > BATCH_BYTES:
            texts |= await _batch(context, batch)
            batch, size_bytes = [], 0
        batch.append(name)
        size_bytes += int(size)
    return texts | await _batch(context, batch)


async def _batch(context: RunContext, objects: Sequence[str]) -> dict[str, str]:
    """Return the texts of these objects from one git process."""
    if not objects:
        return {}
    stdin = "".join(f"{name}\n" for name in objects).encode()
    _, text = await context.git.run("cat-file", "--batch=%(objectsize)", stdin=stdin)
    data = text.encode("utf-8", "surrogateescape")
    texts = {}
    position = 0
    for name in objects:
        start = data.index(b"\n", position) + 1
        position = start + int(data[position : start - 1])
        texts[name] = data[start:position].decode("utf-8", "replace")
        position += 1  # the newline that git adds
    return texts
