"""The example on the page about runs works as it stands there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.run.fixtures.fake_agent import HANG_SECONDS, successful_turn

PAGE = Path(__file__).parents[2] / "docs" / "run.md"


def test_the_example_runs_an_agent_and_then_watches_one(tmp_path: Path) -> None:
    example = PAGE.read_text("utf-8").split("```python\n")[1].split("```")[0] + "\n\nasyncio.run(watch())\n"
    agent = successful_turn("because").install(tmp_path / "bin")
    command = [sys.executable, "-c", example]
    done = subprocess.run(
        command, cwd=tmp_path, env=agent.environment(), capture_output=True, text=True, timeout=HANG_SECONDS, check=True
    )
    first, *names, last = done.stdout.splitlines()
    assert first.startswith("because None ")
    assert names == ["Init", "Assistant", "Result"]
    assert last.startswith("Finished(")
    assert len(agent.starts) == 2
