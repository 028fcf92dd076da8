"""Change files of a working copy from one tree to another without overwriting what another program writes.

A file that goes is renamed into a folder of the git folder, and the new one is linked to its name, which fails where
there is a file. In the end each of the old files is compared with its blob: one that differs was changed by another
program at that moment, and is put back. A killed process leaves that folder with the files that it has renamed.
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
_FOLDER_NAME = re.compile(r"bridle-(\d+)-[0-9a-f]{32}\.replaced")
# Its blob, by which the next process knows whether the file may be removed.
_OLD_NAME = re.compile(r"\d+-(\d{6})-([0-9a-f]+)\.old")
_NO_FILE = Entry(b"", "")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


class Change(NamedTuple):
    """A file that differs between two trees, and its content in the second one."""

    file: Difference
    content: bytes


class _Replacement(NamedTuple):
    """A change that is made, and the names of its files in the folder."""

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
        if pending:
            _replace_all(own, top, pending)
        return [_facts(top, change.file) for change in changes]
    except (OSError, DiskError) as error:
        raise NeedsGit from error


def clear_replaced(own: Path) -> None:
    """Remove the files that killed processes have renamed; one that was changed at that moment stays."""
    for name in os.listdir(own):
        owner = _FOLDER_NAME.fullmatch(name)
        entry = census.find_process(int(owner[1])) if owner is not None else None
        if owner is None or (entry is not None and entry.is_alive):
            continue
        with suppress(OSError), _open(own / name) as folder:
            for inner in os.listdir(folder):
                old = _OLD_NAME.fullmatch(inner)
                if old is None or _is(folder, inner, Entry(old[1].encode("ascii"), old[2])):
                    os.unlink(inner, dir_fd=folder)
            os.rmdir(own / name)


def _replace_all(own: str, top: Path, pending: Sequence[Change]) -> None:
    path = f"{own}/bridle-{os.getpid()}-{ids.new_token()}.replaced"
    os.mkdir(path, 0o700)
    replacements = [_name(number, change) for number, change in enumerate(pending)]
    # New files first, so that no folder is removed which gets another file.
    replacements.sort(key=lambda each: each.change.file.after is None)
    with _open(path) as folder:
        try:
            _check_links(folder)
            for each in replacements:
                if each.change.file.after is not None:
                    _write_new(folder, each.new, each.change.file.after.mode, each.change.content)
            for each in replacements:
                _replace(folder, top, each)
        finally:
            for each in replacements:
                with suppress(FileNotFoundError):
                    os.unlink(each.new, dir_fd=folder)
            are_untouched = [_settle(folder, top, each) for each in replacements]
            with suppress(OSError):  # with a file that cannot be put back
                os.rmdir(path)
    if not all(are_untouched):
        raise NeedsGit


def _name(number: int, change: Change) -> _Replacement:
    mode, blob = change.file.before or (FILE, "0")
    return _Replacement(change, f"{number}-{mode.decode('ascii')}-{blob}.old", f"{number}.new")


def _check_links(folder: int) -> None:
    """Raise OSError, before any change, where the file system has no hard links."""
    os.close(os.open("0.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
    os.link("0.new", "1.new", src_dir_fd=folder, dst_dir_fd=folder)
    for name in ("0.new", "1.new"):
        os.unlink(name, dir_fd=folder)


def _write_new(folder: int, name: str, mode: bytes, content: bytes) -> None:
    if mode == LINK:
        os.symlink(content, name, dir_fd=folder)
        return
    # As of the files that git writes, the umask decides about the permissions.
    flags, permissions = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o777 if mode == PROGRAM else 0o666
    fd = os.open(name, flags, permissions, dir_fd=folder)
    try:
        disk.write_all(fd, content)
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

    One that cannot be put back, because there is another file of its name, stays in the folder.
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
    if stat.S_ISDIR(os.stat(old, dir_fd=folder, follow_symlinks=False).st_mode):
        os.rename(old, last, src_dir_fd=folder, dst_dir_fd=parent)  # only over an empty folder
        return
    os.link(old, last, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
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


def _facts(top: Path, file: Difference) -> os.stat_result | None:
    """Return the facts of a file; None where it is not the wanted one."""
    if file.after is None:
        return None
    try:
        with _open_parent(top, file.path) as (parent, last):
            facts = os.stat(last, dir_fd=parent, follow_symlinks=False)
            return facts if _is(parent, last, file.after) else None
    except OSError:
        return None


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
    fd = os.open(path, _FOLDER)
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
