"""Merge trees without touching the working copy, so that a conflict leaves nothing half done."""

from __future__ import annotations

from dataclasses import dataclass

from bridle.workspace.git import Git


@dataclass(frozen=True)
class Conflicts:
    """A failed merge: the files in conflict. No file was changed."""

    paths: tuple[str, ...]
    details: str


async def merged_tree(git: Git, ours: str, theirs: str) -> str | Conflicts:
    """Return the tree of a merge of two commits; no file is changed."""
    code, output = await git.run("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs, accepts=(0, 1))
    tree, *rest = output.split("\0")
    return _conflicts(rest) if code == 1 else tree


def _conflicts(rest: list[str]) -> Conflicts:
    """Parse names up to an empty one, then messages in groups: number of paths, paths, kind, text."""
    end = rest.index("") if "" in rest else len(rest)
    messages = [part.strip() for part in rest[end + 1 :] if part.startswith("CONFLICT")]
    return Conflicts(tuple(dict.fromkeys(rest[:end])), "\n".join(messages))
