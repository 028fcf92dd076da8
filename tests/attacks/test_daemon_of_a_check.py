"""Attack: code under test starts a daemon that forks twice, makes its own session and empties its environment.

The attacker wants a process that changes files after the check has passed. It ends with the check.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bridle.ground.children.capture import capture
from bridle.ground.descendants import census
from tests.attacks.fixtures.daemon import start_daemon


def test_it_ends_with_the_check(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    command = ("/bin/sh", "-c", start_daemon(tmp_path, note))
    captured = asyncio.run(
        capture(command, cwd=tmp_path, environment=os.environ, limit_seconds=60, waits_for_output=False)
    )
    assert captured.exit_code == 0, captured.stderr
    assert not census.is_alive(int(note.read_text()))
