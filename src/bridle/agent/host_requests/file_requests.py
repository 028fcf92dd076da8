"""Requests about files: rewinding them to a checkpoint, and what the model has read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from bridle.agent.control.control_handlers import Handler, Payload
from bridle.agent.tools.checkpoints import rewind
from bridle.agent.tools.checkpoints.file_checkpoints import FileCheckpoints
from bridle.agent.tools.files.excerpt import NotRegularFile, open_regular
from bridle.agent.tools.files.known_files import FileMemory, KnownFile, file_digest
from bridle.errors import UserError
from bridle.wire.control.requests import RewindFiles, SeedReadState
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject

NOT_ENABLED = "File rewinding is not enabled."
NO_CHECKPOINT = "No file checkpoint found for this message."


class FileRequests:
    """Handles the requests about files of one session."""

    def __init__(self, checkpoints: FileCheckpoints | None, memory: FileMemory, folder: Callable[[], Path]) -> None:
        """`folder` returns the one at which relative paths begin."""
        self._checkpoints, self._memory, self._folder = checkpoints, memory, folder

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by subtype."""
        return {"rewind_files": self._rewind, "seed_read_state": self._seed}

    async def _rewind(self, request: JsonObject) -> Payload:
        sent = convert(request, RewindFiles)
        if self._checkpoints is None:
            raise UserError(NOT_ENABLED)
        files = self._checkpoints.files_at(sent.user_message_id)
        if files is None:
            raise UserError(NO_CHECKPOINT)
        if sent.dry_run:
            preview = await asyncio.to_thread(rewind.preview, files)
            return {"canRewind": True, **msgspec.to_builtins(preview)}
        done = await asyncio.to_thread(rewind.rewind, files)
        if done.failures and not done.restored:
            raise UserError(f"Failed to rewind files: {'; '.join(done.failures)}")
        return {"canRewind": True} | ({"skippedLinks": done.skipped_links} if done.skipped_links else {})

    def _seed(self, request: JsonObject) -> Payload:
        """Count a file as read if it has not changed since the host saw it; `mtime` is in milliseconds."""
        sent = convert(request, SeedReadState)
        path = Path(os.path.realpath(self._folder() / os.path.expanduser(sent.path)))
        try:
            with open_regular(path) as file:
                state, data = os.fstat(file.fileno()), file.read()
        except (OSError, NotRegularFile):
            return None
        if state.st_mtime_ns // 1_000_000 <= sent.mtime:
            self._memory.remember(KnownFile(str(path), state.st_mtime_ns, state.st_size, file_digest(data)))
        return None
