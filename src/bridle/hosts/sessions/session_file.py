"""The file of a host's session: the run that it is bound to, and its iterations.

    ---
    active: true
    iteration: 3
    max_iterations: 65000
    run_id: "my-run"
    started_at: "2026-03-02T10:00:00Z"
    last_iteration_at: "2026-03-02T10:05:30Z"
    iteration_times: 45,62,58
    ---

    The prompt of the user who asked for the run.

Every hook reads it, so this module must import nothing heavy. A faulty file is still read: a faulty field gets its
default, `faults` lists each with its cause, and a file without complete frontmatter is an inactive session without a
run. The text below the frontmatter is preserved byte for byte. A file that cannot be read raises SessionFileUnusable.
"""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError, SessionFileUnusable, StateFolderMissing
from bridle.ground import disk, ids
from bridle.ground.home import FOLDER as HOME_FOLDER
from bridle.ground.home import find_home
from bridle.ground.light.abc_names import Callable, Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.session import (
    DEFAULT_MAX_ITERATIONS,
    Session,
    SessionFile,
    moment,
    new_file,
    new_session,
    parse,
    render,
)

TYPE_CHECKING = False  # importing `typing` is slow; type checkers know the name
if TYPE_CHECKING:
    from bridle.ground.lock import FileLock

__all__ = [
    "DEFAULT_MAX_ITERATIONS",
    "Session",
    "SessionFile",
    "changed",
    "create",
    "deactivate",
    "delete",
    "held",
    "mark_as_bound",
    "moment",
    "new_file",
    "new_session",
    "parse",
    "path_of",
    "read",
    "record_path",
    "records_folder",
    "state_dirs",
    "write",
]

# A prompt may contain a whole specification; a larger file was not written by a user.
FILE_LIMIT_BYTES = 64 * 1024 * 1024

# The holder of the lock writes one small file, or creates one run. Five seconds mean a failing disk, not a queue.
LOCK_WAIT_SECONDS = 5.0

STATE_FOLDER_VARIABLE = "BABYSITTER_STATE_DIR"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
PLUGIN_STATE = "skills/babysit/state"
PROJECT_STATE = ".a5c/state"
SUFFIX = ".md"
RECORDS = "sessions"


def path_of(state_dir: Path, session_id: str) -> Path:
    """Return the path of a session's file; raise a UsageError for an id that is not safe in a path."""
    return state_dir / (ids.check_id(session_id, what="the session id") + SUFFIX)


def record_path(session_id: str, environ: Mapping[str, str]) -> Path:
    """Return the path of the record of a session's binding; see `binding_record`."""
    return records_folder(environ) / ids.check_id(session_id, what="the session id")


def records_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the records of all sessions."""
    home = find_home(environ) or os.path.join(os.path.expanduser("~"), HOME_FOLDER)
    return Path(os.path.join(os.path.abspath(home), RECORDS))


def state_dirs(
    flag: str | None, plugin_root: str | None, payload_cwd: object, environ: Mapping[str, str]
) -> tuple[Path, ...]:
    """Return the folders that may hold a session's file; new files go into the first.

    An explicit folder is the only one. Otherwise the file may also be in the project although there is a plugin (the
    command that created it did not know the plugin), and above the payload's folder (the agent changed folders).
    """
    if flag is not None and not flag.strip():
        raise StateFolderMissing("--state-dir must be a folder, got ''", remedy="Give a folder, or omit the option.")
    explicit = flag or environ.get(STATE_FOLDER_VARIABLE)
    if explicit:
        return (Path(os.path.abspath(explicit)),)
    project = environ.get(PROJECT_VARIABLE) or "."
    here = str(payload_cwd) if _is_folder_name(payload_cwd) else project
    of_project = (os.path.join(folder, PROJECT_STATE) for folder in (*_upwards(here), os.path.abspath(project)))
    of_plugin = (os.path.join(os.path.abspath(plugin_root), PLUGIN_STATE),) if plugin_root else ()
    return tuple(Path(folder) for folder in dict.fromkeys((*of_plugin, *of_project)))


def read(path: Path) -> SessionFile | None:
    """Read a session file; None if it does not exist."""
    if os.path.islink(path):
        raise SessionFileUnusable(
            f"the session file {path} is a symbolic link", remedy="Remove the link; session files are never shared."
        )
    try:
        data = disk.read_if_exists(path, FILE_LIMIT_BYTES)
    except DiskError as error:
        raise _unusable(error) from error
    return None if data is None else parse(path, data)


def write(file: SessionFile) -> None:
    """Replace the whole file, durably; create its folder if missing."""
    data = render(file)
    try:
        disk.make_private_folder(file.path.parent)
        disk.write_atomic(file.path, data)
    except DiskError as error:
        raise _unusable(error) from error


def mark_as_bound(path: Path) -> None:
    """Put an empty file beside the file of a session that is bound to a run; it is deleted with that file."""
    try:
        disk.make_private_folder(path.parent)
        disk.write_atomic(_mark_of(path), b"")
    except DiskError as error:
        raise _unusable(error) from error


def delete(path: Path) -> bool:
    """Delete the file of a session; return False if it did not exist."""
    if not os.path.lexists(path):
        return False
    with held(path, "session:delete"):
        existed = _unlink(path)
        _unlink(_mark_of(path))
        # A process that waits for this lock notices the new lock file and takes that one.
        _unlink(_lock_of(path))
        disk.sync_folder(path.parent)
    return existed


def changed(
    path: Path, change: Callable[[SessionFile | None], SessionFile | None], *, holder: str = "session"
) -> SessionFile | None:
    """Read, change and write a session file under its lock; return the resulting file.

    `change` gets the present file (None if missing). If it returns the same file or None, nothing is written. The
    folder is created if missing.
    """
    with held(path, holder):
        before = read(path)
        after = change(before)
        if after is None or after is before:
            return before
        write(after)
        return after


def deactivate(path: Path, run_id: str, *, holder: str) -> None:
    """Mark a session inactive, unless it has been deleted or bound to another run."""

    def change(file: SessionFile | None) -> SessionFile | None:
        if file is None or file.session.run_id != run_id or not file.session.active:
            return None
        return file.with_session(file.session.changed(active=False))

    changed(path, change, holder=holder)


def create(file: SessionFile, *, holder: str = "session") -> bool:
    """Write the file unless the path exists; return whether it was written."""
    if os.path.lexists(file.path):
        return False
    with held(file.path, holder):
        if os.path.lexists(file.path):
            return False
        write(file)
    return True


def held(path: Path, holder: str, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> FileLock:
    """Return the held lock of a session file, for a `with`; the kernel releases it when its holder dies."""
    from bridle.ground.lock import FileLock  # most hooks only read a session file

    try:
        disk.make_private_folder(path.parent)
        return FileLock.hold(_lock_of(path), holder=holder, wait_seconds=wait_seconds)
    except DiskError as error:
        raise _unusable(error) from error


def _unlink(path: Path) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SessionFileUnusable(
            f"could not remove the session file {path}: {error.strerror}",
            remedy="Check the permissions of its folder.",
            payload=error.errno,
        ) from error
    return True


def _lock_of(path: Path) -> Path:
    return path.parent / f".{path.stem}.lock"


def _mark_of(path: Path) -> Path:
    return path.parent / f".{path.stem}.bound"


def _is_folder_name(folder: object) -> bool:
    """Return whether a payload's folder can be used; it is foreign input of any type."""
    if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder:
        return False
    try:
        os.fsencode(folder)
    except UnicodeEncodeError:  # half of a surrogate pair, valid in JSON and in no file name
        return False
    return True


def _upwards(folder: str) -> Iterator[str]:
    """Yield the folder and its parents, up to the first that every user may write to."""
    folder, above = os.path.abspath(folder), ""
    yield folder
    while folder != above:
        folder, above = os.path.dirname(folder), folder
        if folder == above or _is_world_writable(folder):
            return
        yield folder


def _is_world_writable(folder: str) -> bool:
    """Return whether every user may write there, as in /tmp: another user could place a session file."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return False


def _unusable(error: DiskError) -> SessionFileUnusable:
    return SessionFileUnusable(error.message, remedy=error.remedy, payload=error.payload)
