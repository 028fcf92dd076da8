"""Attack: a command of bridle-agent's Bash tool starts a daemon with no parent, session or environment of its own.

The attacker wants a process that outlives the session. It ends with the session, and other commands are left alone.

With the sandbox: the same; the agent's own namespace ends it later, with the agent.
Without: ends with the session.
Reported: nothing to report.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.ground.descendants import census
from tests.agent.fixtures.shell_session import shell_session
from tests.attacks.fixtures.daemon import start_daemon


def test_it_ends_with_the_session(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def story() -> None:
        async with shell_session(tmp_path) as session:
            await session.bash(start_daemon(tmp_path, note))
            assert census.is_alive(int(note.read_text()))  # a server that was started with & may run on

    asyncio.run(story())
    assert not census.is_alive(int(note.read_text()))
