"""The file of a host's session: which run it is bound to, and how often it went round.

    ---
    active: true
    iteration: 3
    max_iterations: 65000
    run_id: "my-run"
    started_at: "2026-03-02T10:00:00Z"
    last_iteration_at: "2026-03-02T10:05:30Z"
    iteration_times: 45,62,58
    ---

    The words of the person who asked for the run.

Every hook reads it, so nothing heavy may be imported here. What is wrong in a file is survived: the field gets its
default, `faults` says which and why, and a file without whole frontmatter is an inactive session without a run. What
stands below the frontmatter is kept byte for byte. A file that cannot be read at all raises SessionFileUnusable.
"""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError, SessionFileUnusable, StateFolderMissing
from bridle.ground import disk, ids
from bridle.ground.light.abc_names import Callable, Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.ground.lock import FileLock
from bridle.hosts.sessions.frontmatter import parse, render
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, Session, SessionFile, moment, new_file, new_session

__all__ = [
    "DEFAULT_MAX_ITERATIONS",
    "Session",
    "SessionFile",
    "changed",
    "create",
    "delete",
    "held",
    "moment",
    "new_file",
    "new_session",
    "parse",
    "path_of",
    "read",
    "state_dir",
    "state_dirs",
    "write",
]

# A prompt may carry a whole specification; what is larger than this was not written by a person.
FILE_LIMIT_BYTES = 64 * 1024 * 1024

# Whoever holds the lock writes one small file, or makes one run. Five seconds is a sick disk, not a queue.
LOCK_WAIT_SECONDS = 5.0

STATE_FOLDER_VARIABLE = "BABYSITTER_STATE_DIR"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
PLUGIN_STATE = "skills/babysit/state"
PROJECT_STATE = ".a5c/state"
SUFFIX = ".md"


def path_of(state_dir: Path, session_id: str) -> Path:
    """The file of a session; an id that is not safe in a path is refused."""
    return state_dir / (ids.check_id(session_id, what="the session id") + SUFFIX)


def state_dir(given: str | None, plugin_root: str | None, payload_cwd: object, environ: Mapping[str, str]) -> Path:
    """The folder of session files."""
    return state_dirs(given, plugin_root, payload_cwd, environ)[0]


def state_dirs(
    given: str | None, plugin_root: str | None, payload_cwd: object, environ: Mapping[str, str]
) -> tuple[Path, ...]:
    """Where a session's file may be, the first being where a new one goes.

    An explicit folder stands alone. Otherwise the file may also be in the project, although a plugin is known (the
    command that made it did not know the plugin), and above the folder of the payload (the agent went elsewhere).
    """
    if given is not None and not given.strip():
        raise StateFolderMissing("--state-dir is empty", remedy="Give a folder, or leave the option out.")
    explicit = given or environ.get(STATE_FOLDER_VARIABLE)
    if explicit:
        return (Path(os.path.abspath(explicit)),)
    project = environ.get(PROJECT_VARIABLE) or "."
    here = str(payload_cwd) if _is_folder_name(payload_cwd) else project
    of_project = (os.path.join(folder, PROJECT_STATE) for folder in (*_upwards(here), os.path.abspath(project)))
    of_plugin = (os.path.join(os.path.abspath(plugin_root), PLUGIN_STATE),) if plugin_root else ()
    return tuple(Path(folder) for folder in dict.fromkeys((*of_plugin, *of_project)))


def read(path: Path) -> SessionFile | None:
    """The session file; None when there is none."""
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
    """Replace the file as a whole, durably; its folder is made where it is missing."""
    data = render(file)
    try:
        disk.make_private_folder(file.path.parent)
        disk.write_atomic(file.path, data)
    except DiskError as error:
        raise _unusable(error) from error


def delete(path: Path) -> bool:
    """Remove the file of a session; False when there was none."""
    if not os.path.lexists(path):
        return False
    with held(path, "session:delete"):
        is_there = _unlink(path)
        # Whoever waits for this lock sees that the file is another one, and takes that.
        _unlink(_lock_of(path))
        disk.sync_folder(path.parent)
    return is_there


def changed(
    path: Path, change: Callable[[SessionFile | None], SessionFile | None], *, holder: str = "session"
) -> SessionFile | None:
    """Read, change and write a session file while nobody else does; gives what stands there afterwards.

    `change` gets what is there (None for nothing) and gives what shall be there; giving back what it got, or None,
    writes nothing. The folder is made where it is missing.
    """
    with held(path, holder):
        found = read(path)
        wanted = change(found)
        if wanted is None or wanted is found:
            return found
        write(wanted)
        return wanted


def create(file: SessionFile, *, holder: str = "session") -> bool:
    """Write the file unless something of that name is there; False when it is."""
    if os.path.lexists(file.path):
        return False
    with held(file.path, holder):
        if os.path.lexists(file.path):
            return False
        write(file)
    return True


def held(path: Path, holder: str, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> FileLock:
    """The lock of a session file, to be used in a `with`; the kernel frees it when its holder dies."""
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
            f"the session file {path} could not be removed: {error.strerror}",
            remedy="Check the permissions of its folder.",
            payload=error.errno,
        ) from error
    return True


def _lock_of(path: Path) -> Path:
    return path.parent / f".{path.stem}.lock"


def _is_folder_name(folder: object) -> bool:
    """Whether a payload's folder can be used; it came from outside and may be anything."""
    if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder:
        return False
    try:
        os.fsencode(folder)
    except UnicodeEncodeError:  # half of a character, which JSON can carry and no file name can
        return False
    return True


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, as far as nobody but their owners writes to them."""
    folder, above = os.path.abspath(folder), ""
    yield folder
    while folder != above:
        folder, above = os.path.dirname(folder), folder
        if folder == above or _is_for_everybody(folder):
            return
        yield folder


def _is_for_everybody(folder: str) -> bool:
    """Whether anybody may write there, as in /tmp: a session file in it could be a trap."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return False


def _unusable(error: DiskError) -> SessionFileUnusable:
    return SessionFileUnusable(error.message, remedy=error.remedy, payload=error.payload)
