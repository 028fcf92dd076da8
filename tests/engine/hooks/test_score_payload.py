"""A posted score is told to the hooks of `on-score`, whoever performed the effect."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from bridle.engine.hooks.score_payload import score_payload
from bridle.journal.format.entries import ERROR, OK, Posted
from tests.engine.fixtures.driven_runs import LIMIT_SECONDS, new_driven_run
from tests.fixtures.bridle_program import BRIDLE

RESOLVED = {"effectId": "E1", "status": "ok", "resultRef": "tasks/E1/result.json"}


def posted(value: object, status: str = OK) -> Posted:
    return Posted(status, value=value, started_at="", finished_at="")


@pytest.mark.parametrize("score", [0, 85, 99.5, -1])
def test_an_object_with_a_number_under_score_is_one(score: float) -> None:
    value = {"score": score, "why": "because"}
    found = score_payload(RESOLVED, posted(value))
    assert found == {"effectId": "E1", "score": score, "value": value, "resultRef": "tasks/E1/result.json"}


def test_the_document_that_a_command_printed_counts_too() -> None:
    found = score_payload(RESOLVED, posted({"success": True, "exitCode": 0, "result": {"score": 7}}))
    assert found is not None
    assert (found["score"], found["value"]) == (7, {"score": 7})


@pytest.mark.parametrize("value", [85, "85", None, [85], {}, {"score": "85"}, {"score": True}, {"score": None}])
def test_nothing_else_is_one(value: object) -> None:
    assert score_payload(RESOLVED, posted(value)) is None


def test_an_effect_that_failed_has_no_score() -> None:
    assert score_payload(RESOLVED, posted({"score": 3}, ERROR)) is None


def heard(folder: Path) -> Path:
    """Where a hook of the user's keeps what it is told of a score."""
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/on-score/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"cat > {folder}/heard\n")
    return folder / "heard"


def test_a_score_that_the_driver_gets_is_reported(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            code = "import json; print(json.dumps({'score': 61}))"
            return await ctx.task(free, {"kind": "python", "python": {"code": code}}, label="judge")
        """,
    )
    told_in = heard(tmp_path)
    assert driven.drive().status == "completed"
    document = json.loads(told_in.read_text())
    assert (document["runId"], document["effectId"], document["score"]) == ("r1", driven.effect("judge"), 61)


def test_a_posted_score_is_reported_and_another_result_is_not(tmp_path: Path) -> None:
    driven = new_driven_run(
        tmp_path,
        """
        async def process(inputs, ctx):
            await ctx.task(free, {"kind": "other"}, label="first")
            return await ctx.task(free, {"kind": "other"}, label="judge")
        """,
    )
    told_in = heard(tmp_path)
    for label, value in (("first", '{"points": 1}'), ("judge", '{"score": 40, "lacks": "tests"}')):
        driven.drive()
        words = ["task:post", "r1", driven.effect(label), "--status", "ok", "--value-inline", value]
        subprocess.run([BRIDLE, *words], cwd=driven.folder, check=True, timeout=LIMIT_SECONDS)
        assert told_in.exists() == (label == "judge")
    document = json.loads(told_in.read_text())
    assert (document["hookType"], document["value"]) == ("on-score", {"score": 40, "lacks": "tests"})
