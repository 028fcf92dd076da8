"""The lock of a workspace: a running holder is named at once, and is not taken for a killed one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.errors import LockHeld
from bridle.ground.lock import FileLock
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.run.workspace_lock import LOCK_FILE, count_killed_run, hold_workspace


def test_a_workspace_that_is_in_use_is_refused_at_once(tmp_path: Path) -> None:
    messages: list[str] = []
    with FileLock.hold(private_folder(tmp_path, STATE_FOLDER) / LOCK_FILE, holder="bridle coder x"):
        with pytest.raises(LockHeld, match="bridle coder x"):
            asyncio.run(hold_workspace(tmp_path, holder="second", say=messages.append))
        asyncio.run(count_killed_run(tmp_path, messages.append))
    assert messages == []
