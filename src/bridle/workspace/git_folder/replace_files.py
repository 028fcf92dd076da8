"""Change files of a working copy from one tree to another without overwriting what another program writes.

A file that goes is renamed into the git folder, and the new one, which is there too, is linked to its name, which fails
where there is a file. In the end each of the old files is compared with its blob: one that differs was changed by
another program at that moment, and is put back. A killed process leaves the files that it has renamed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bridle.errors import DiskError
from bridle.ground import disk, ids
from bridle.ground.descendants import census
from bridle.ground.files import files_below
from bridle.workspace.git_folder.loose_objects import blob_id
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.tree_objects import Difference, Entry

# Larger files are left to git, which does not read them into memory.
LIMIT_BYTES = 4 * 1024 * 1024
FILE, PROGRAM, LINK = b"100644", b"100755", b"120000"
# Our process, and the blob of an old file, by which the next process knows whether it may be removed.
_NAME = re.compile(r"bridle-(\d+)-[0-9a-f]{32}-\d+(?:\.new|-(\d{6})-([0-9a-f]+)\.old)")
_NO_FILE = Entry(b"", "")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


class Change(NamedTuple):
    """A file that differs between two trees, and its content in the second one."""

    file: Difference
    content: bytes


class _Replacement(NamedTuple):
    """A change that is made, and the names of its files in the git folder."""

    change: Change
    old: str
    new: str


def replace_files(own: str, top: Path, changes: Sequence[Change]) -> list[os.stat_result | None]:
    """Change these files; return the facts of each as it is then, None for one that is gone or was changed since.

    `own`: the git folder of the working copy. Raise NeedsGit without a change where a file is neither as before nor as
    wanted; and with some of them changed, but none overwritten, where another program changes one at the same time.
    """
    try:
        pending = [change for change in changes if not _is_done(top, change.file)]
        written = _replace_all(own, top, pending) if pending else {}
        return [_facts(top, change.file, written.get(change.file.path)) for change in changes]
    except (OSError, DiskError) as error:
        raise NeedsGit from error


def clear_replaced(own: Path) -> None:
    """Remove the files that killed processes have renamed; one that was changed at that moment stays."""
    with _open(own) as folder:
        for name in os.listdir(own):
            parts = _NAME.fullmatch(name)
            owner = census.find_process(int(parts[1])) if parts is not None else None
            if parts is None or (owner is not None and owner.is_alive):
                continue
            if parts[2] is None or _is(folder, name, Entry(parts[2].encode("ascii"), parts[3])):
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)


def _replace_all(own: str, top: Path, pending: Sequence[Change]) -> dict[bytes, os.stat_result]:
    """Replace these files; return the facts of each new one."""
    written: dict[bytes, os.stat_result] = {}
    start = f"bridle-{os.getpid()}-{ids.new_token()}"
    replacements = [_name(f"{start}-{number}", change) for number, change in enumerate(pending)]
    # New files first, so that no folder is removed which gets another file.
    replacements.sort(key=lambda each: each.change.file.after is None)
    with _open(own) as folder:
        try:
            for each in replacements:
                file = each.change.file
                if file.after is not None:
                    written[file.path] = _write_new(folder, each.new, file.after.mode, each.change.content)
            for each in replacements:
                _replace(folder, top, each)
        finally:
            for each in replacements:
                with suppress(FileNotFoundError):
                    os.unlink(each.new, dir_fd=folder)
            are_untouched = [_settle(folder, top, each) for each in replacements]
    if not all(are_untouched):
        raise NeedsGit
    return written


def _name(start: str, change: Change) -> _Replacement:
    mode, blob = change.file.before or (FILE, "0")
    return _Replacement(change, f"{start}-{mode.decode('ascii')}-{blob}.old", f"{start}.new")


def _write_new(folder: int, name: str, mode: bytes, content: bytes) -> os.stat_result:
    """Write a file; return its facts."""
    if mode == LINK:
        os.symlink(content, name, dir_fd=folder)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    # As of the files that git writes, the umask decides about the permissions.
    flags, permissions = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o777 if mode == PROGRAM else 0o666
    fd = os.open(name, flags, permissions, dir_fd=folder)
    try:
        disk.write_all(fd, content)
        return os.fstat(fd)
    finally:
        os.close(fd)


def _replace(folder: int, top: Path, each: _Replacement) -> None:
    file = each.change.file
    with _open_parent(top, file.path, makes=file.after is not None) as (parent, last):
        if file.before is not None:
            with suppress(FileNotFoundError):
                os.rename(last, each.old, src_dir_fd=parent, dst_dir_fd=folder)
        if file.after is not None:
            os.link(each.new, last, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
    if file.after is None:
        _remove_empty_folders(top, file.path)


def _settle(folder: int, top: Path, each: _Replacement) -> bool:
    """Remove the old file; put it back where it was changed, or has no new one; return whether it was not changed.

    One that cannot be put back, because there is another file of its name, stays in the git folder.
    """
    file = each.change.file
    if not _exists(folder, each.old):
        return True
    is_untouched = _is(folder, each.old, file.before)
    if is_untouched and (file.after is None or _exists_below(top, file.path)):
        os.unlink(each.old, dir_fd=folder)
        return True
    with suppress(OSError), _open_parent(top, file.path, makes=True) as (parent, last):
        if not is_untouched and _is(parent, last, file.after):
            os.rename(last, each.new, src_dir_fd=parent, dst_dir_fd=folder)
            if _is(folder, each.new, file.after):
                os.unlink(each.new, dir_fd=folder)
        _put_back(folder, each.old, parent, last)
    return is_untouched


def _put_back(folder: int, old: str, parent: int, last: str) -> None:
    """Move a file back, or the folder that another program has made of it; OSError where there is another file."""
    try:
        os.link(old, last, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a folder, or a file system without such links
        if _exists(parent, last):
            raise
        os.rename(old, last, src_dir_fd=folder, dst_dir_fd=parent)
    else:
        os.unlink(old, dir_fd=folder)


def _is_done(top: Path, file: Difference) -> bool:
    """Return whether a file is as wanted; raise NeedsGit if it is neither that nor as before, or missing."""
    try:
        with _open_parent(top, file.path) as (parent, last):
            found = _read(parent, last, (file.after or file.before or _NO_FILE).object)
    except FileNotFoundError:
        found = None
    if found not in (None, file.before, file.after):
        raise NeedsGit
    return found == file.after


def _facts(top: Path, file: Difference, written: os.stat_result | None) -> os.stat_result | None:
    """Return the facts of a file, which may be the one that was written; None where it is not the wanted one."""
    if file.after is None:
        return None
    try:
        with _open_parent(top, file.path) as (parent, last):
            facts = os.stat(last, dir_fd=parent, follow_symlinks=False)
            is_same = written is not None and _version(facts) == _version(written)
            return facts if is_same or _is(parent, last, file.after) else None
    except OSError:
        return None


def _version(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns


def _is(folder: int, name: str, wanted: Entry | None) -> bool:
    """Return whether a file has the mode and the content of an entry; no file has those of None."""
    return wanted is not None and _read(folder, name, wanted.object) == wanted


def _read(folder: int, name: str, like: str) -> Entry | None:
    """Return mode and blob of a file; those of no file for a folder or a large file, None where it is missing."""
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            mode, data = LINK, os.fsencode(os.readlink(name, dir_fd=folder))
        else:
            mode = PROGRAM if facts.st_mode & stat.S_IXUSR else FILE
            content = files_below.read_in(folder, name, LIMIT_BYTES)
            if content is None:
                return _NO_FILE
            data = content
    except FileNotFoundError:
        return None
    except OSError:
        return _NO_FILE
    return Entry(mode, blob_id(data, like=like))


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _exists_below(top: Path, path: bytes) -> bool:
    return not files_below.is_missing(top, os.fsdecode(path))


def _remove_empty_folders(top: Path, path: bytes) -> None:
    """Remove the folders above a file that have nothing else, as git does."""
    with suppress(OSError):
        while b"/" in path:
            path = path.rpartition(b"/")[0]
            with _open_parent(top, path) as (parent, last):
                os.rmdir(last, dir_fd=parent)


@contextmanager
def _open(path: str | Path) -> Iterator[int]:
    fd = os.open(path, _FOLDER & ~os.O_NOFOLLOW)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _open_parent(top: Path, path: bytes, *, makes: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder of a file without following links; yield it and the last part of the name. `makes`: make it."""
    *folders, last = os.fsdecode(path).split("/")
    if not last or not {"", ".", ".."}.isdisjoint(folders):
        raise OSError(errno.EINVAL, "not the name of a file below a folder")
    fd = os.open(top, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for name in folders:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=fd)
            inner = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, last
    finally:
        os.close(fd)
