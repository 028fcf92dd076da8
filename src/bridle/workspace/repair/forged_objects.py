"""Objects whose content does not have their id. An agent can write them to `.git/objects`.

Git does not compare the two when it reads an object, and writes no object whose id it finds: a file would be committed
with other content than it has. So the objects in which a tree differs from an earlier one are read and hashed.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from bridle.errors import GitError
from bridle.ground.threads import in_thread
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files

COMMIT = b"commit"
TREE = b"tree"
BLOB = b"blob"
_FOLDER = b"40000"
_NESTED_REPOSITORY = b"160000"
_CHUNK_BYTES = 1024 * 1024
# The most objects that one git prints, unless they are too large together.
_BATCH = 1000
# An index of packed objects: signature and version, then 256 counts, then the sorted ids.
_PACK_INDEX = b"\377tOc\0\0\0\2"
_COUNTS_BYTES = 256 * 4


class Forged(Struct):
    """Forged objects, by their role."""

    new: dict[str, str] = field(default_factory=dict)
    """Objects of the later tree, each with a path."""
    old: dict[str, str] = field(default_factory=dict)
    """Trees of the earlier one."""


class _Entry(Struct, frozen=True):
    mode: bytes
    name: bytes
    object: str


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
            known = {(entry.mode, entry.name): entry.object for entry in _entries(contents.get(old or ""), new)}
            for entry in _entries(contents[new], new):
                there, place = known.get((entry.mode, entry.name)), path + entry.name
                if entry.object == there or entry.mode == _NESTED_REPOSITORY:
                    continue
                if entry.mode == _FOLDER:
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
    loose, others = await in_thread(lambda: _read_loose(git.folder, names, kind), name="hashing objects")
    for number in range(0, len(others), _BATCH):
        loose |= await _read_by_git(git, others[number : number + _BATCH], kind)
    if kind == TREE:
        for name, content in loose.items():
            if content:  # neither forged nor missing
                git.known_trees.add(name, content)
    return loose


def _read_loose(top: Path, names: set[str], kind: bytes) -> tuple[dict[str, bytes | None], list[str]]:
    """Return the content of loose objects, and the names of those that git may read from a pack."""
    try:
        objects = f"{read_git_files.git_folders(top)[1]}/objects"
        indexes = _pack_indexes(objects)
    except (read_git_files.NeedsGit, OSError):
        return {}, sorted(names)
    contents: dict[str, bytes | None] = {}
    others = []
    for name in sorted(names):
        path = f"{objects}/{name[:2]}/{name[2:]}"
        if indexes is None or any(_may_have(index, name) for index in indexes) or not os.path.isfile(path):
            others.append(name)
        elif os.path.getsize(path) == 0:
            contents[name] = b""  # lost, as after a power cut: see `lost_objects`
        else:
            contents[name] = _loose_content(path, name, kind)
    return contents, others


def _loose_content(path: str, name: str, kind: bytes) -> bytes | None:
    """Return the content of a loose object, and nothing for a blob; None if it does not have this id and kind."""
    total, kept = _digest(name), []
    is_first = True
    try:
        with open(path, "rb") as file:
            for data in _inflate(iter(lambda: file.read(_CHUNK_BYTES), b"")):
                if is_first and data and not data.startswith(kind + b" "):
                    return None
                is_first = is_first and not data
                total.update(data)
                if kind != BLOB:
                    kept.append(data)
    except (OSError, zlib.error):
        return None
    return b"".join(kept).partition(b"\0")[2] if total.hexdigest() == name else None


def _inflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    for chunk in chunks:
        while chunk and not inflating.eof:
            yield inflating.decompress(chunk, _CHUNK_BYTES)
            chunk = inflating.unconsumed_tail
    yield inflating.flush()


def _pack_indexes(objects: str) -> list[bytes] | None:
    """Return the indexes of all packs; None where git may find packed objects without them."""
    pack = f"{objects}/pack"
    if os.path.lexists(f"{objects}/info/alternates"):
        return None
    found = []
    for name in os.listdir(pack) if os.path.isdir(pack) else ():
        if name.startswith("multi-pack-index"):
            return None
        if name.endswith(".idx"):
            data = Path(pack, name).read_bytes()
            if not data.startswith(_PACK_INDEX):
                return None
            found.append(data)
    return found


def _may_have(index: bytes, name: str) -> bool:
    """Return whether git may find an id in the index of a pack: it searches between two of the counts."""
    wanted, counts = bytes.fromhex(name), len(_PACK_INDEX)
    first = counts + 4 * wanted[0]
    start = int.from_bytes(index[first - 4 : first]) if wanted[0] else 0
    end = int.from_bytes(index[first : first + 4])
    ids = counts + _COUNTS_BYTES
    return index.find(wanted, ids + start * len(wanted), ids + end * len(wanted)) >= 0


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
        total = _digest(name)
        total.update(b"%b %b\0" % (words[1], words[2]) + content)
        is_true = total.hexdigest() == name and kind == words[1]
        contents[name] = content if is_true else None
    return contents


def _entries(content: bytes | None, like: str) -> Iterator[_Entry]:
    """Yield the entries of a tree."""
    content, at, length = content or b"", 0, len(like) // 2
    while at < len(content):
        end = content.find(b"\0", at)
        if end < 0:
            return  # an agent may have written such a tree
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + length
        yield _Entry(mode, name, content[end + 1 : at].hex())


def _digest(name: str) -> hashlib._Hash:
    return (hashlib.sha1 if len(name) == 40 else hashlib.sha256)(usedforsecurity=False)


def _shown(path: bytes) -> str:
    return os.fsdecode(path)
