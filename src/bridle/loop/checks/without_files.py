"""Run checks again without what no commit contains, to find out whether they pass in a clone.

Files are moved out of the working copy while the checks run. So everything else that the checks need, such as
installed dependencies, is as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.files import files_below
from bridle.ground.git_folder import git_folder
from bridle.loop.working_copy.run_context import RunContext

_MANIFEST = "names.json"
# Of a file that exists only while the checks run.
_WAS_MISSING = "-missing"


class NotInCommit(Struct, frozen=True):
    """Something that checks see and that a clone does not have, or has otherwise."""

    name: str
    """Its path; that of a folder may end with a slash."""
    why: str = ""
    instead: bytes | Path | None = None
    """What a clone has instead: these bytes, or a copy of this file."""

    def __str__(self) -> str:
        return f"{self.name}: {self.why}" if self.why else self.name


@contextmanager
def without_files(context: RunContext, files: Sequence[NotInCommit]) -> Iterator[bool]:
    """Make the working copy as a clone has it; yield whether that was possible."""
    put_back(context)
    folder = disk.make_private_folder(moved_folder(context))
    disk.write_json_atomic(folder / _MANIFEST, [file.name for file in files])
    try:
        yield _move_out(context, folder, files)
    finally:
        put_back(context)


def put_back(context: RunContext) -> list[str]:
    """Put files back into the working copy, also those of a driver that was killed; return their names.

    A link that a check has put in the way is removed and not followed.
    """
    folder = moved_folder(context)
    manifest = disk.read_json(folder / _MANIFEST)
    if not isinstance(manifest, list):
        return []
    names = [str(name).rstrip("/") for name in manifest]
    for number, name in reversed(list(enumerate(names))):  # a folder before the files that were moved from it
        try:
            _put_back(context.folder, name, folder / str(number))
        except OSError as error:
            raise DiskError(
                f"cannot put {name} back after a check: {error.strerror}",
                remedy=f"It is kept as {folder / str(number)}: move it to its place, and continue the run.",
            ) from error
    shutil.rmtree(folder)
    return names


def _put_back(top: Path, name: str, kept: Path) -> None:
    if os.path.lexists(kept):
        files_below.remove(top, name)
        with files_below.parent(top, name, makes=True) as (parent, last):
            os.rename(kept, last, dst_dir_fd=parent)
    elif os.path.lexists(f"{kept}{_WAS_MISSING}"):
        files_below.remove(top, name)


def _move_out(context: RunContext, folder: Path, files: Sequence[NotInCommit]) -> bool:
    try:
        for number, file in enumerate(files):
            _move(context.folder, file, folder / str(number))
    except OSError as error:  # on another file system, behind a link, or in a folder that we may not write to
        context.say(f"{file.name} cannot be moved for a check: {error.strerror}")
        return False
    return True


def _move(top: Path, file: NotInCommit, kept: Path) -> None:
    """Move a file out, if it is there, and write what a clone has instead."""
    mode = 0o644
    try:
        with files_below.parent(top, file.name.rstrip("/")) as (parent, last):
            mode = os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode & 0o777
            os.rename(last, kept, src_dir_fd=parent)
    except FileNotFoundError:
        if file.instead is None:
            return
        Path(f"{kept}{_WAS_MISSING}").touch()
    if file.instead is None:
        return
    with files_below.parent(top, file.name.rstrip("/"), makes=True) as (parent, last):
        if isinstance(file.instead, Path) and file.instead.is_symlink():
            os.symlink(os.readlink(file.instead), last, dir_fd=parent)
            return
        fd = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, dir_fd=parent)
        with open(fd, "wb") as target:
            if isinstance(file.instead, bytes):
                target.write(file.instead)
            else:
                mode = os.stat(file.instead).st_mode & 0o777
                with open(file.instead, "rb") as source:
                    shutil.copyfileobj(source, target)
            os.fchmod(fd, mode)


def moved_folder(context: RunContext) -> Path:
    """Return the folder for moved files, on the file system of the working copy."""
    worker = "" if context.worker is None else f"-{context.worker}"
    own = git_folder(context.folder)
    is_elsewhere = own is not None and not _is_on_one_disk(context.run_folder, context.folder)
    top = Path(own, context.run) if own is not None and is_elsewhere else context.run_folder
    return top / f"bridle-moved{worker}"


def _is_on_one_disk(one: Path, other: Path) -> bool:
    try:
        return os.stat(one).st_dev == os.stat(other).st_dev
    except OSError:
        return True
