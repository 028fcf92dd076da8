"""Every scenario of the engine plays as a person has read it.

BRIDLE_REWRITE=1 writes the results anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.fixtures.scenario import Scenario, play

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios" / "engine").glob("*.txt"))
REWRITE = bool(os.environ.get("BRIDLE_REWRITE"))  # read here: tests themselves see no such variable


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenario_plays_as_it_was_read(path: Path, tmp_path: Path) -> None:
    scenario = Scenario.read(path)
    result = play(scenario, tmp_path)
    if REWRITE:
        scenario.rewrite(result)
        return
    assert result == scenario.expected


def test_a_scenario_that_plays_differently_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text(
        "=== process.py\nasync def process(inputs, ctx): ...\n=== do\niterate\n=== result\nsomething else\n"
    )
    scenario = Scenario.read(path)
    folder = tmp_path / "run"
    folder.mkdir()
    assert play(scenario, folder) != scenario.expected
