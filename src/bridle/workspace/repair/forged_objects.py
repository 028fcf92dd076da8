"""Objects whose content does not have their id. An agent can write them to `.git/objects`.

Git does not compare the two when it reads an object, and writes no object whose id it finds: a file would be committed
with other content than it has. So the objects in which a tree differs from an earlier one are read and hashed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from bridle.errors import GitError
from bridle.ground.threads import in_thread
from bridle.workspace.git import Git
from bridle.workspace.git_folder import loose_objects
from bridle.workspace.git_folder.loose_objects import BLOB, COMMIT, FOLDER, NESTED_REPOSITORY, TREE

# The most objects that one git prints, unless they are too large together.
_BATCH = 1000


class Forged(Struct):
    """Forged objects, by their role."""

    new: dict[str, str] = field(default_factory=dict)
    """Objects of the later tree, each with a path."""
    old: dict[str, str] = field(default_factory=dict)
    """Trees of the earlier one."""


async def find_forged(git: Git, tree: str, before: str | None) -> Forged:
    """Return the forged objects among those in which a tree differs from an earlier one."""
    forged = Forged()
    blobs: dict[str, bytes] = {}
    pairs: list[tuple[bytes, str, str | None]] = [(b"", tree, before)] if tree != before else []
    while pairs:
        contents = await _read(git, {name for _, new, old in pairs for name in (new, old) if name is not None}, TREE)
        deeper: list[tuple[bytes, str, str | None]] = []
        for path, new, old in pairs:
            if contents[new] is None:
                forged.new[new] = _shown(path) or "/"
                continue
            if old is not None and contents[old] is None:
                forged.old[old] = _shown(path) or "/"
            known = {
                (entry.mode, entry.name): entry.object for entry in loose_objects.entries(contents.get(old or ""), new)
            }
            for entry in loose_objects.entries(contents[new], new):
                there, place = known.get((entry.mode, entry.name)), path + entry.name
                if entry.object == there or entry.mode == NESTED_REPOSITORY:
                    continue
                if entry.mode == FOLDER:
                    deeper.append((place + b"/", entry.object, there))
                else:
                    blobs[entry.object] = place
        pairs = deeper
    found = await _read(git, set(blobs), BLOB)
    forged.new |= {name: _shown(blobs[name]) for name, content in found.items() if content is None}
    return forged


async def tree_of_head(git: Git) -> str | None:
    """Return the tree of the commit that is checked out; None before the first commit."""
    try:
        head = await git.head()
        return await git.tree_of(head) if head is not None else None
    except GitError:
        return None  # git has lost it


async def find_replaced(git: Git, commits: Sequence[str]) -> list[str]:
    """Return the objects of commits, and of their trees, that git shows as others because of refs in `refs/replace`."""
    refs = (await git.text("for-each-ref", "--format=%(refname)", "refs/replace/")).splitlines()
    if not refs or not commits:
        return []
    stdin = "".join(f"{commit}\n" for commit in commits).encode("ascii")
    _, text = await git.run("rev-list", "--objects", "--no-walk", "--stdin", stdin=stdin)
    objects = {line.partition(" ")[0] for line in text.splitlines()}
    return [name for ref in refs if (name := ref.rpartition("/")[2]) in objects]


async def refuse_forged(git: Git, tree: str, parent: str | None) -> None:
    """Raise GitError if one of the objects in which a tree differs from that of a commit is forged."""
    content = (await _read(git, {parent}, COMMIT))[parent] if parent is not None else b""
    if content is None:
        refuse(git, {str(parent): "the last commit"})
    before = (content or b"").partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")
    forged = await find_forged(git, tree, before or None)
    refuse(git, {**forged.old, **forged.new})


def refuse(git: Git, names: dict[str, str]) -> None:
    """Raise GitError for forged objects that cannot be written again."""
    for name, path in names.items():
        raise GitError(
            f"the object {name} ({path}) in {git.folder} was replaced: its content does not have this id",
            remedy="Fetch the repository anew, or restore .git/objects from a backup; `git fsck` lists such objects.",
        )


async def remove(git: Git, names: Iterable[str]) -> None:
    """Remove loose objects, so that git writes them again."""
    folder = await git.common_folder() / "objects"
    for name in names:
        (folder / name[:2] / name[2:]).unlink(missing_ok=True)


async def find_forged_in_commit(git: Git, commit: str) -> dict[str, str]:
    """Return the forged objects of a commit: itself, its first parent, and those in which their trees differ."""
    trees: list[str | None] = []
    name: str | None = commit
    for what in ("the commit", "its parent"):
        content = (await _read(git, {name}, COMMIT))[name] if name is not None else b""
        if content is None:
            return {str(name): what}
        lines = content.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
        trees.append(next((line.removeprefix("tree ") for line in lines if line.startswith("tree ")), None))
        name = next((line.removeprefix("parent ") for line in lines if line.startswith("parent ")), None)
    tree, before = trees
    forged = await find_forged(git, tree, before) if tree is not None else Forged()
    return {**forged.old, **forged.new}


async def _read(git: Git, names: set[str], kind: bytes) -> dict[str, bytes | None]:
    """Return the content of commits and trees, nothing for a blob or a missing object; None for a forged one."""
    if not names:
        return {}
    loose, others = await in_thread(lambda: loose_objects.read(git.folder, names, kind), name="hashing objects")
    for number in range(0, len(others), _BATCH):
        loose |= await _read_by_git(git, others[number : number + _BATCH], kind)
    if kind == TREE:
        for name, content in loose.items():
            if content:  # neither forged nor missing
                git.known_trees.add(name, content)
    return loose


async def _read_by_git(git: Git, names: Sequence[str], kind: bytes) -> dict[str, bytes | None]:
    """Return the same as `_read`, of what git itself reads; a git that prints too much is asked for fewer."""
    stdin = "".join(f"{name}\n" for name in names).encode("ascii")
    try:
        _, text = await git.run("cat-file", "--batch", "--buffer", stdin=stdin)
    except GitError:
        if len(names) == 1:
            raise
        half = len(names) // 2
        return await _read_by_git(git, names[:half], kind) | await _read_by_git(git, names[half:], kind)
    data, at = text.encode("utf-8", "surrogateescape"), 0
    contents: dict[str, bytes | None] = {}
    for name in names:
        end = data.index(b"\n", at)
        words = data[at:end].split(b" ")
        at = end + 1
        if len(words) != 3:  # missing
            contents[name] = b""
            continue
        content = data[at : at + int(words[2])]
        at += len(content) + 1
        total = loose_objects.digest_like(name)
        total.update(b"%b %b\0" % (words[1], words[2]) + content)
        is_true = total.hexdigest() == name and kind == words[1]
        contents[name] = content if is_true else None
    return contents


def _shown(path: bytes) -> str:
    return os.fsdecode(path)
