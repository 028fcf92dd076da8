"""The git folder that a sandboxed program sees: everything in it is read-only but what ordinary work with git writes.

A read-only mount protects only what exists, and git also obeys files that a program could add: `commondir` makes it
read another configuration. So the folder itself is private. In it objects, refs and logs are the real ones (not those
of runs, see `branch_view`), other files are read-only, and only the files that git replaces (the index, HEAD,
ORIG_HEAD, MERGE_HEAD, …) are copied back. `shallow` is not: by it commits lose their parents, which git then deletes.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.run.isolation import replaced_files
from bridle.run.isolation.branch_view import BranchView, copy_branch_back
from bridle.run.isolation.replaced_files import Identity

# What git writes below a folder of its own: the real folders.
WRITABLE_FOLDERS = ("objects", "refs", "logs", "lfs")
# In them, what only Bridle writes.
OUR_REFS = "refs/bridle"
# What git writes directly in its folder, by a lock file and a rename: copied, and copied back.
REPLACED_FILES = (
    *("index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG"),
    *("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "MERGE_AUTOSTASH", "SQUASH_MSG", "AUTO_MERGE"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS"),
    *("BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK", "BISECT_FIRST_PARENT", "BISECT_HEAD", "BISECT_RUN"),
)
# Of a worktree and a submodule too. In a main working copy a rebase would run the commands in its list when the user
# continues it.
_REPLACED_IN_LINKED = ("REBASE_HEAD", "rebase-merge", "rebase-apply")
# A checkout whose HEAD cannot be written has changed the files and the index nevertheless.
_HEAD = "HEAD"
_HEAD_LIMIT_BYTES = 4096
_HEAD_CONTENT = rb"(ref: refs/heads/[^\0\n]+|[0-9a-f]{40}|[0-9a-f]{64})\n?"
_SPLIT_INDEX = "sharedindex.*"
# Without one, `git pack-refs` would write it into the private folder and delete the refs that are in it.
_PACKED_REFS = "packed-refs"
_LOGS = "logs"
# A clone has one or two, and git follows five of them.
_ALTERNATES_LIMIT = 20
_ALTERNATES_LIMIT_BYTES = 64 * 1024


class Copied(Struct, frozen=True):
    """A file that was copied into the view: how the original and the copy looked then."""

    original: Identity | None
    copy: Identity | None


class GitView(Struct, frozen=True):
    """The view of one git folder: of a working copy, a worktree or a submodule."""

    folder: Path
    private: Path
    """The folder that is shown at its place."""
    is_linked: bool
    copied: dict[str, Copied]
    branch: BranchView | None = None


def make_view(folder: Path, private: Path, *, is_linked: bool, branch: BranchView | None = None) -> GitView:
    """Fill a new private folder with copies of the files that git replaces."""
    private.mkdir()
    with contextlib.suppress(OSError):  # then git has no reflogs
        (folder / _LOGS).mkdir(exist_ok=True)
    copied = {}
    for name in os.listdir(folder):
        source, target = folder / name, private / name
        if _is_replaced(name, is_linked=is_linked):
            original = replaced_files.identify(source)
            with contextlib.suppress(FileNotFoundError):  # another git has just removed it
                replaced_files.copy(source, target)
            copied[name] = Copied(original, replaced_files.identify(target))
    return GitView(folder, private, is_linked, copied, branch)


def mounts(view: GitView, empty: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield the options of bubblewrap for a view, each with its source and its place."""
    yield "--bind", view.private, view.folder
    names = [name for name in sorted(os.listdir(view.folder)) if name not in view.copied]
    for name in names:
        path = view.folder / name
        if not name.endswith(".lock") and (path.is_dir() or path.is_file()):
            is_writable = name in WRITABLE_FOLDERS and path.is_dir()
            # It may be a temporary file of another git, and gone.
            yield "--bind-try" if is_writable else "--ro-bind-try", Path(os.path.realpath(path)), path
    ours = view.folder / OUR_REFS
    if ours.is_dir() and not ours.is_symlink():  # they keep the objects of snapshots from `git gc`
        yield "--ro-bind", ours, ours
    if _PACKED_REFS not in names and (view.folder / "refs" / "heads").is_dir():
        yield "--ro-bind", empty, view.folder / _PACKED_REFS
    if view.branch is not None:
        yield "--bind", view.branch.private, view.branch.folder


def copy_back(view: GitView) -> None:
    """Replace the files that the program has changed, unless another program has changed them too.

    Raises DiskError after the last one, for the first that could not be replaced.
    """
    failures: list[tuple[str, OSError]] = []
    for name in sorted({*view.copied, *os.listdir(view.private)}):
        if _is_replaced(name, is_linked=view.is_linked):
            try:
                _copy_back(view, name)
            except OSError as error:
                failures.append((name, error))
    if view.branch is not None:
        try:
            copy_branch_back(view.branch)
        except OSError as error:
            failures.append((f"the branch {view.branch.own}", error))
    if failures:
        names = ", ".join(name for name, _ in failures)
        raise DiskError(
            f"cannot write {names} of {view.folder} as git left it in the sandbox: {failures[0][1].strerror}",
            remedy="Check the free space, and the owner and permissions of that folder. The work itself is there.",
            payload=failures[0][1].errno,
        )


def _copy_back(view: GitView, name: str) -> None:
    before = view.copied.get(name, Copied(None, None))
    source, target = view.private / name, view.folder / name
    is_same = replaced_files.identify(source) == before.copy and not source.is_dir()
    if is_same or (name == _HEAD and not _is_head(source)):
        return
    with replaced_files.lock(target) as lock:
        if lock is not None and replaced_files.identify(target) == before.original:
            replaced_files.replace(source, target, lock)


def alternates(folder: Path) -> list[Path]:
    """Return the folders of objects, of other repositories, that a git folder uses."""
    found: list[Path] = []
    waiting = [folder / "objects"]
    while waiting and len(found) < _ALTERNATES_LIMIT:
        objects = waiting.pop()
        try:
            text = disk.read_bounded(objects / "info" / "alternates", _ALTERNATES_LIMIT_BYTES)
        except DiskError:
            continue  # most have none
        for line in text.splitlines():
            path = Path(os.path.realpath(objects / os.fsdecode(line)))
            if line.strip() and not line.startswith(b"#") and path not in found and path.is_dir():
                found.append(path)
                waiting.append(path)
    return found


def _is_replaced(name: str, *, is_linked: bool) -> bool:
    is_ours = name in REPLACED_FILES or fnmatchcase(name, _SPLIT_INDEX)
    return is_ours or (is_linked and name in _REPLACED_IN_LINKED)


def _is_head(path: Path) -> bool:
    """Return whether a file names a branch or a commit; git takes a folder without such a file for no repository."""
    try:
        return re.fullmatch(_HEAD_CONTENT, disk.read_bounded(path, _HEAD_LIMIT_BYTES)) is not None
    except DiskError:
        return False
