"""`--reasoning`: what arrives at the model, from the real Claude Code and from bridle-agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import says, scene

pytestmark = pytest.mark.real

OFF = {"type": "disabled"}
ADAPTIVE = {"type": "adaptive"}


def budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens}


@pytest.mark.parametrize("agent", ["claude", "bridle-agent"])
@pytest.mark.parametrize(
    ("model", "level", "thinking", "effort"),
    [
        ("sonnet", "none", OFF, "high"),
        ("sonnet", "low", ADAPTIVE, "low"),
        ("sonnet", "med", ADAPTIVE, "medium"),
        ("sonnet", "high", ADAPTIVE, "high"),
        (None, "none", OFF, "high"),
        (None, "low", ADAPTIVE, "low"),
        ("haiku", "none", OFF, None),
        ("haiku", "low", budget(4096), None),
        ("some-other-model", "low", ADAPTIVE, "low"),
    ],
)
def test_a_level_decides_how_much_the_model_thinks(
    agent: str, model: str | None, level: str, thinking: dict[str, Any], effort: str | None, tmp_path: Path
) -> None:
    with scene(tmp_path, says("ok")) as set_up:
        chosen = [] if model is None else ["--model", model]
        asked = set_up.ask("hi", "--agent", agent, "--reasoning", level, *chosen)
        assert asked.exit_code == 0
        [body] = set_up.bodies()
        assert body["thinking"] == thinking
        assert body.get("output_config", {}).get("effort") == effort
