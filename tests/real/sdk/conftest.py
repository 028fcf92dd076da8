"""Each test here runs with both official SDKs, and with the real Claude Code and bridle-agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.real.fixtures.installed_programs import claude_program
from tests.real.fixtures.sdk_session import Acts, bridle_agent, drive_on_stage


@pytest.fixture(params=[claude_program, bridle_agent], ids=["real", "ours"])
def program(request: pytest.FixtureRequest) -> Path:
    find: Callable[[], Path] = request.param
    return find()


@pytest.fixture(params=["py", "ts"])
def sdk(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def acts(program: Path, sdk: str, tmp_path: Path) -> Acts:
    """Set a scene: `with acts(answer, answer) as drive`."""
    return partial(drive_on_stage, tmp_path, program, sdk)
