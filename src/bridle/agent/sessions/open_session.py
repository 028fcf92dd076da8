"""Opens the session of a run: a new one, a resumed one, the newest of a folder, or a fork.

A session has one writer. A second process waits a moment, since the first may be exiting, and is then refused;
`--fork-session` is always possible.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_files
from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import History
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.session_request import SessionRequest
from bridle.agent.sessions.transcript_entries import Origin
from bridle.agent.sessions.transcript_file import lock
from bridle.errors import DiskError, SessionError, UsageError
from bridle.ground import clock
from bridle.ground.git_folder import repository_top
from bridle.wire.project_folder import project_folder_name

# After its result a run still ends its children and writes its last line; it needs no longer than this.
LOCK_WAIT_SECONDS = 2.0
_RETRY_SECONDS = 0.05

_UUID_PARTS = [8, 4, 4, 4, 12]
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class Place(msgspec.Struct, frozen=True):
    """Where a session runs."""

    config_folder: Path
    cwd: Path
    version: str
    entrypoint: str = "sdk-cli"


def entrypoint(environment: Mapping[str, str]) -> str:
    """Return how the parent process identifies itself."""
    return environment.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli"


def check(request: SessionRequest) -> None:
    """Raise UsageError for contradictory flags, before anything is read."""
    if request.session_id is not None and not is_uuid(request.session_id):
        raise UsageError("Error: Invalid session ID. Must be a valid UUID.")
    if request.session_id is not None and (request.resume is not None or request.continues) and not request.forks:
        raise UsageError(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
        )


def open_session(request: SessionRequest, place: Place) -> Session:
    """Open or create the session. Reads files, and may wait for another process to release the transcript."""
    check(request)
    source = _source(request, place)
    if source is None:
        return _begin(request, place)
    if request.forks:
        return _fork(request, place, source)
    if not is_uuid(source.stem):
        return _adopt(request, place, source)
    return _resume(request, place, source)


def is_uuid(text: str) -> bool:
    """Return whether a text has the form of a session id."""
    parts = text.split("-")
    return [len(part) for part in parts] == _UUID_PARTS and all(_HEXADECIMAL.issuperset(part) for part in parts)


def project_folder(config_folder: Path, cwd: Path) -> Path:
    """Return the folder for the transcripts of a working folder."""
    return config_folder / "projects" / project_folder_name(str(cwd))


def _begin(request: SessionRequest, place: Place) -> Session:
    session_id = request.session_id or new_uuid()
    path = _path(place, session_id)
    if request.session_id is not None and path.exists():
        raise UsageError(f"Error: Session ID {session_id} is already in use.")
    titles = transcript_entries.titles(request.name, session_id=session_id) if request.name else []
    return Session(_origin(place, session_id), path if request.persists else None, opening=titles)


def _fork(request: SessionRequest, place: Place, source: Path) -> Session:
    session_id = request.session_id or new_uuid()
    path = _path(place, session_id)
    if path.exists():
        raise UsageError(f"Error: Session ID {session_id} is already in use.")
    past = _load(request, source, session_id)
    title = request.name or past.title
    opening = transcript_entries.titles(title, session_id=session_id) if title else []
    transcript = path if request.persists else None
    return Session(_origin(place, session_id), transcript, history=past, opening=opening, copied_from=source)


def _resume(request: SessionRequest, place: Place, source: Path) -> Session:
    session_id = source.stem
    fd = open_locked(source) if request.persists else None
    try:
        past = _load(request, source, session_id)
    except BaseException:
        if fd is not None:
            os.close(fd)
        raise
    opening = transcript_entries.titles(request.name, session_id=session_id) if request.name else []
    transcript = source if request.persists else None
    return Session(_origin(place, session_id), transcript, history=past, opening=opening, fd=fd)


def _adopt(request: SessionRequest, place: Place, source: Path) -> Session:
    """Continue a transcript of any name in a copy beside it, which has the name of its session."""
    from bridle.agent.sessions.read_transcript import session_of

    named = session_of(source)
    session_id = named if named is not None and is_uuid(named) else new_uuid()
    path = source.with_name(f"{session_id}.jsonl")
    if path.exists():
        raise SessionError(
            f"Error: {source} was already resumed as session {session_id}. Resume {path} instead, or copy the session"
            " with --fork-session.",
            payload=session_id,
        )
    past = _load(request, source, session_id)
    opening = transcript_entries.titles(past.title, session_id=session_id) if past.title else []
    transcript = path if request.persists else None
    return Session(_origin(place, session_id), transcript, history=past, opening=opening, copied_from=source)


def _load(request: SessionRequest, source: Path, session_id: str) -> History:
    from bridle.agent.sessions import history  # late: a new session reads no transcript

    try:
        past = history.load(source, until=request.resume_at)
    except history.NotInTranscript as error:
        raise SessionError(f"No message found with message.uuid of: {request.resume_at}", payload=session_id) from error
    return msgspec.structs.replace(past, title=request.name) if request.name else past


def _source(request: SessionRequest, place: Place) -> Path | None:
    """Return the transcript to resume, if any."""
    if request.resume is not None:
        return _named(request.resume, place)
    if request.continues:
        from bridle.agent.sessions import read_transcript

        return next((path for path in _newest_first(place) if read_transcript.holds_conversation(path)), None)
    return None


def _named(name: str, place: Place) -> Path:
    from bridle.agent.sessions import read_transcript

    if is_uuid(name):
        for folder in _folders(place):
            path = folder / f"{name}.jsonl"
            if path.is_file() and read_transcript.holds_conversation(path):
                return path
        raise SessionError(f"No conversation found with session ID: {name}", payload=name)
    path = place.cwd / os.path.expanduser(name)
    if name.endswith(".jsonl") and path.is_file() and read_transcript.holds_conversation(path):
        return path
    paths = [path for path in _newest_first(place) if name and read_transcript.title_of(path) == name]
    if len(paths) == 1:
        return paths[0]
    if paths:
        raise SessionError(_ambiguous(name, paths), payload=new_uuid())
    message = (
        "Error: --resume requires a valid session ID or session title when used with --print."
        " Usage: claude -p --resume <session-id|title>"
    )
    if name:
        message += f'. Provided value "{name}" is not a UUID and does not match any session title.'
    raise SessionError(message, payload=new_uuid())


def _ambiguous(name: str, paths: list[Path]) -> str:
    lines = [f'Error: --resume "{name}" matches {len(paths)} sessions. Pass one of these session IDs to disambiguate:']
    for path in paths:
        modified = clock.iso(datetime.fromtimestamp(path.stat().st_mtime, UTC))
        lines.append(f"  {path.stem}  (modified {modified})")
    return "\n".join(lines)


def _folders(place: Place) -> list[Path]:
    """Return where to search for a session id: this folder, and the worktrees of its repository."""
    top = repository_top(place.cwd)
    tops = [] if top is None else git_files.list_worktrees(top)
    return [project_folder(place.config_folder, folder) for folder in dict.fromkeys([place.cwd, *tops])]


def _newest_first(place: Place) -> list[Path]:
    """Return the transcripts of this folder, newest first."""
    folder = project_folder(place.config_folder, place.cwd)
    transcripts: list[tuple[int, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and is_uuid(entry.name[:-6]) and entry.is_file():
                    transcripts.append((entry.stat().st_mtime_ns, entry.name))
    except OSError:
        return []  # no session of this folder yet, or one was just removed
    return [folder / name for _, name in sorted(transcripts, reverse=True)]


def open_locked(path: Path) -> int:
    """Open a transcript for writing and lock it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError as error:
        raise DiskError(
            f"cannot open the transcript {path}: {error.strerror}",
            remedy="Check the owner and permissions of the file, or use --fork-session.",
            payload=error.errno,
        ) from error
    deadline = clock.monotonic() + LOCK_WAIT_SECONDS
    while not lock(fd):
        if clock.monotonic() >= deadline:
            os.close(fd)
            raise SessionError(
                f"Session {path.stem} is in use by another process. Wait until it has ended, or copy the session with"
                " --fork-session.",
                payload=path.stem,
            )
        time.sleep(_RETRY_SECONDS)
    return fd


def _path(place: Place, session_id: str) -> Path:
    return project_folder(place.config_folder, place.cwd) / f"{session_id}.jsonl"


def _origin(place: Place, session_id: str) -> Origin:
    return Origin(
        session_id=session_id,
        cwd=str(place.cwd),
        version=place.version,
        entrypoint=place.entrypoint,
        git_branch=git_files.current_branch(place.cwd),
    )
