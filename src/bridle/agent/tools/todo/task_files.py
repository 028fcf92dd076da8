"""Writes the task list of a session, one file a task, where Claude Code reads it when it resumes the session."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.tools.todo.task_items import TaskItem, TaskItems
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.wire.events.loose_json import to_bytes

# The highest number that a removed task had: no later task gets it.
_HIGHEST = ".highwatermark"
# Claude Code locks this file while it writes.
_LOCK = ".lock"


class TaskFiles:
    """The files of one session. A failed write is not an error: the list is also in the transcript."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, bytes] = {}

    def save(self, items: TaskItems) -> None:
        """Write the tasks that have changed, and remove the files of tasks that are gone."""
        with contextlib.suppress(DiskError, OSError):
            self._save({item.id: _document(item) for item in items.all()}, items.last_id)

    def _save(self, documents: dict[str, bytes], last_id: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self._folder / _LOCK).touch(mode=0o600)
        for item_id, document in documents.items():
            if self._written.get(item_id) != document:
                disk.replace_cache(self._path(item_id), document)
        for item_id in self._written.keys() - documents.keys():
            self._path(item_id).unlink(missing_ok=True)
        if str(last_id) not in documents:
            disk.replace_cache(self._folder / _HIGHEST, str(last_id).encode())
        self._written = documents

    def _path(self, item_id: str) -> Path:
        return self._folder / f"{item_id}.json"


def _document(item: TaskItem) -> bytes:
    fields: dict[str, Any] = {
        "id": item.id,
        "subject": item.subject,
        "description": item.description,
        "activeForm": item.active_form,
        "owner": item.owner,
        "status": item.status,
        "blocks": item.blocks,
        "blockedBy": item.blocked_by,
        "metadata": item.metadata or None,
    }
    return msgspec.json.format(to_bytes({name: value for name, value in fields.items() if value is not None}), indent=2)
