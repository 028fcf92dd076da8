"""Which session a run belongs to: a new one, one that is resumed, the newest of a folder, a copy of another.

A session has one writer. Whoever comes second waits a moment, since the first may be on its way out, and is then
refused; a copy (`--fork-session`) is always possible.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_files
from bridle.agent.sessions import history, read_transcript, transcript_entries
from bridle.agent.sessions.history import History, NotInTranscript
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.transcript_entries import Origin
from bridle.agent.sessions.transcript_file import hold
from bridle.errors import DiskError, SessionError, UsageError
from bridle.ground import clock
from bridle.ground.git_folder import repository_top

# A run that has printed its result still ends its children and writes its last line; it needs no longer than this.
LOCK_WAIT_SECONDS = 2.0
_ASK_AGAIN_SECONDS = 0.05

# Names of folders above this get cut, as other programs that read transcripts expect.
_FOLDER_LIMIT_CHARACTERS = 200

_UUID_PARTS = [8, 4, 4, 4, 12]
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Wanted(msgspec.Struct, frozen=True):
    """What the command line says about the session."""

    session_id: str | None = None
    resume: str | None = None
    """The id or the title of the session to go on with."""
    continues: bool = False
    """Whether to go on with the newest session of the folder."""
    forks: bool = False
    resume_at: str | None = None
    """The line after which the rest of the resumed conversation is left behind."""
    name: str | None = None
    keeps: bool = True
    """Whether a transcript is written."""


class Place(msgspec.Struct, frozen=True):
    """Where a session takes place."""

    config_folder: Path
    cwd: Path
    version: str
    entrypoint: str = "sdk-cli"


def entrypoint(environment: Mapping[str, str]) -> str:
    """What programs that start us say they are."""
    return environment.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli"


def check(wanted: Wanted) -> None:
    """Refuse what cannot be meant, before anything is read."""
    if wanted.session_id is not None and not is_uuid(wanted.session_id):
        raise UsageError("Error: Invalid session ID. Must be a valid UUID.")
    if wanted.session_id is not None and (wanted.resume is not None or wanted.continues) and not wanted.forks:
        raise UsageError(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
        )


def open_session(wanted: Wanted, place: Place) -> Session:
    """Find or begin the session. It reads files, and may wait for another run to let go of its transcript."""
    check(wanted)
    source = _source(wanted, place)
    if source is None:
        return _begin(wanted, place)
    if wanted.forks:
        return _fork(wanted, place, source)
    return _resume(wanted, place, source)


def is_uuid(text: str) -> bool:
    """Whether a text can be the id of a session."""
    parts = text.split("-")
    return [len(part) for part in parts] == _UUID_PARTS and all(_HEXADECIMAL.issuperset(part) for part in parts)


def project_folder(config_folder: Path, cwd: Path) -> Path:
    """Where the transcripts of a working folder are kept."""
    path = str(cwd)
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)
    if len(name) > _FOLDER_LIMIT_CHARACTERS:
        name = f"{name[:_FOLDER_LIMIT_CHARACTERS]}-{_digest(path)}"
    return config_folder / "projects" / name


def _begin(wanted: Wanted, place: Place) -> Session:
    session_id = wanted.session_id or new_uuid()
    path = _path(place, session_id)
    if wanted.session_id is not None and path.exists():
        raise UsageError(f"Error: Session ID {session_id} is already in use.")
    titles = transcript_entries.titles(wanted.name, session_id=session_id) if wanted.name else []
    return Session(_origin(place, session_id), path if wanted.keeps else None, opening=titles)


def _fork(wanted: Wanted, place: Place, source: Path) -> Session:
    session_id = wanted.session_id or new_uuid()
    path = _path(place, session_id)
    if path.exists():
        raise UsageError(f"Error: Session ID {session_id} is already in use.")
    past = _load(wanted, source, session_id)
    title = wanted.name or past.title
    opening = transcript_entries.titles(title, session_id=session_id) if title else []
    kept = path if wanted.keeps else None
    return Session(_origin(place, session_id), kept, history=past, opening=opening, copied_from=source)


def _resume(wanted: Wanted, place: Place, source: Path) -> Session:
    session_id = source.stem
    fd = _hold(source) if wanted.keeps else None
    try:
        past = _load(wanted, source, session_id)
    except BaseException:
        if fd is not None:
            os.close(fd)
        raise
    opening = transcript_entries.titles(wanted.name, session_id=session_id) if wanted.name else []
    kept = source if wanted.keeps else None
    return Session(_origin(place, session_id), kept, history=past, opening=opening, fd=fd)


def _load(wanted: Wanted, source: Path, session_id: str) -> History:
    try:
        past = history.load(source, until=wanted.resume_at)
    except NotInTranscript as error:
        raise SessionError(f"No message found with message.uuid of: {wanted.resume_at}", payload=session_id) from error
    return msgspec.structs.replace(past, title=wanted.name) if wanted.name else past


def _source(wanted: Wanted, place: Place) -> Path | None:
    """The transcript to go on with, if any is wanted."""
    if wanted.resume is not None:
        return _named(wanted.resume, place)
    if wanted.continues:
        return next((path for path in _newest_first(place) if read_transcript.holds_conversation(path)), None)
    return None


def _named(name: str, place: Place) -> Path:
    if is_uuid(name):
        for folder in _folders(place):
            path = folder / f"{name}.jsonl"
            if path.is_file() and read_transcript.holds_conversation(path):
                return path
        raise SessionError(f"No conversation found with session ID: {name}", payload=name)
    found = [path for path in _newest_first(place) if name and read_transcript.title_of(path) == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise SessionError(_many(name, found), payload=new_uuid())
    refusal = (
        "Error: --resume requires a valid session ID or session title when used with --print."
        " Usage: claude -p --resume <session-id|title>"
    )
    if name:
        refusal += f'. Provided value "{name}" is not a UUID and does not match any session title.'
    raise SessionError(refusal, payload=new_uuid())


def _many(name: str, found: list[Path]) -> str:
    lines = [f'Error: --resume "{name}" matches {len(found)} sessions. Pass one of these session IDs to disambiguate:']
    for path in found:
        modified = clock.iso(datetime.fromtimestamp(path.stat().st_mtime, UTC))
        lines.append(f"  {path.stem}  (modified {modified})")
    return "\n".join(lines)


def _folders(place: Place) -> list[Path]:
    """Where a session that is named by its id may be: of this folder, and of the tops of its repository."""
    top = repository_top(place.cwd)
    tops = [] if top is None else git_files.list_worktrees(top)
    return [project_folder(place.config_folder, folder) for folder in dict.fromkeys([place.cwd, *tops])]


def _newest_first(place: Place) -> list[Path]:
    """The sessions of this very folder."""
    folder = project_folder(place.config_folder, place.cwd)
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and is_uuid(entry.name[:-6]) and entry.is_file():
                    found.append((entry.stat().st_mtime_ns, entry.name))
    except OSError:
        return []  # no session of this folder yet, or one that was removed while we looked
    return [folder / name for _, name in sorted(found, reverse=True)]


def _hold(path: Path) -> int:
    """Open a transcript for writing, for this process alone."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError as error:
        raise DiskError(
            f"the transcript {path} could not be opened: {error.strerror}",
            remedy="Check the owner and the permissions of the file, or use --fork-session.",
            payload=error.errno,
        ) from error
    deadline = clock.monotonic() + LOCK_WAIT_SECONDS
    while not hold(fd):
        if clock.monotonic() >= deadline:
            os.close(fd)
            raise SessionError(
                f"Session {path.stem} is in use by another process. Wait until it has ended, or go on with a copy of"
                " the conversation: --fork-session.",
                payload=path.stem,
            )
        time.sleep(_ASK_AGAIN_SECONDS)
    return fd


def _path(place: Place, session_id: str) -> Path:
    return project_folder(place.config_folder, place.cwd) / f"{session_id}.jsonl"


def _origin(place: Place, session_id: str) -> Origin:
    return Origin(session_id, str(place.cwd), place.version, place.entrypoint, git_files.current_branch(place.cwd))


def _digest(text: str) -> str:
    """The short hash that other programs put behind a name that was cut."""
    number = 0
    for letter in text:
        number = ((number << 5) - number + ord(letter)) & 0xFFFFFFFF
    number = abs(number - 0x100000000 if number >= 0x80000000 else number)
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits or "0"
