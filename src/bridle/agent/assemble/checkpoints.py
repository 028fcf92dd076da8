"""The file checkpoints of a run: whether they are kept, and those of the session that it resumes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.sessions.session import Session
from bridle.agent.tools.files.known_files import FileMemory

if TYPE_CHECKING:
    from bridle.agent.tools.checkpoints.file_checkpoints import Checkpoint, FileCheckpoints

# An SDK sets it for a session with file checkpoints.
VARIABLE = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
_ON = ("1", "true", "yes", "on")
_MARK = b'"file-history-snapshot"'


def file_checkpoints(inputs: RunInputs, session: Session, memory: FileMemory) -> FileCheckpoints | None:
    """Return the checkpoints, connected with the tools that write files; None if they are not enabled."""
    if inputs.environment.get(VARIABLE, "").lower() not in _ON:
        return None
    from bridle.agent.tools.checkpoints.file_checkpoints import FileCheckpoints

    loop, recorded = asyncio.get_running_loop(), set[str]()

    def record(checkpoint: Checkpoint) -> None:
        message_id, snapshot = checkpoint.message_id, msgspec.to_builtins(checkpoint)
        is_update = message_id in recorded
        recorded.add(message_id)
        loop.call_soon_threadsafe(lambda: session.checkpoint(message_id, snapshot, is_update=is_update))

    folder = inputs.config_folder / "file-history"
    known = _known(session.source) if session.source is not None else []
    if session.source is not None and session.source.stem != session.id:
        _copy(folder / session.source.stem, folder / session.id)
    checkpoints = FileCheckpoints(folder / session.id, inputs.cwd, record, known)
    memory.before_change = checkpoints.before_change
    return checkpoints


def _known(transcript: Path) -> list[Checkpoint]:
    """Read the checkpoints of a transcript; a later line of the same checkpoint replaces it."""
    from bridle.agent.sessions.read_transcript import lines_of
    from bridle.agent.tools.checkpoints.file_checkpoints import Checkpoint

    found: dict[str, Checkpoint] = {}
    for line in lines_of(transcript):
        if _MARK in line:
            try:
                checkpoint = msgspec.convert(msgspec.json.decode(line)["snapshot"], Checkpoint)
            except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
                continue
            found[checkpoint.message_id] = checkpoint
    return list(found.values())


def _copy(source: Path, target: Path) -> None:
    """Copy the backups of a forked session: each session has its own folder."""
    if source.is_dir():
        import shutil  # late: slow to import, and few sessions are forked

        shutil.copytree(source, target, dirs_exist_ok=True)
