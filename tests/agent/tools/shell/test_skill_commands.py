from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.tools.shell.skill_commands import inline_commands
from bridle.errors import UserError
from tests.agent.fixtures.shell_session import run_story, shell_session


def test_a_command_in_a_skill_runs_only_if_it_may(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            run = inline_commands(place.tools["Bash"], lambda command: "it removes" if "rm" in command else None)
            assert await run("echo inline-out; echo err >&2") == "inline-out\nerr"
            assert await run("true") == ""
            (place.project / "kept").touch()
            with pytest.raises(UserError, match="it removes"):
                await run("rm kept")
            assert (place.project / "kept").exists()
            with pytest.raises(UserError, match=r'^Shell command failed for pattern "!`exit 3`": Exit code 3$'):
                await run("exit 3")

    run_story(story)
