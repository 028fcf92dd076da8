"""Old progress is folded by an agent that can only read; what it costs is counted, and its failure harms nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.loop import effect_results
from bridle.loop.performers import progress_file
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, assert_replays, run_plan, verdicts
from tests.loop.fixtures.run_on_engine import RED, RunOnEngine
from tests.loop.fixtures.summarizer import summarizing

ANSWER = (
    '{"type":"result","subtype":"success","is_error":false,"result":"","structured_output":{"summary":"IN-SHORT"},'
    '"total_cost_usd":0.5,"num_turns":1,"duration_ms":1,"usage":{"input_tokens":7,"output_tokens":3}}'
)


def test_progress_is_folded_and_the_cost_is_counted(tmp_path: Path) -> None:
    here = summarizing(tmp_path, f"echo '{ANSWER}'; exit 0")
    document = run_plan(here, 0)
    assert verdicts(document) == {"One": "done"}
    (asked,) = (here.agent_folder / "summaries").read_text().splitlines()
    assert "--model=haiku" in asked
    assert "Write" not in asked
    assert (document["cost_usd"], document["verified_usd"]) == (0.53, 0.01)
    assert (document["input_tokens"], document["output_tokens"]) == (37, 9)
    prompt = here.calls()[2]["prompt"]
    assert "IN-SHORT" in prompt
    assert "TOLD1" not in prompt
    assert_replays(here)


def test_what_a_summarizer_writes_is_in_no_commit(tmp_path: Path) -> None:
    writes = "touch left; mkdir deep; touch deep/left; echo more >> PLAN.md; git add -A; git commit -qm left"
    here = summarizing(tmp_path, f"({writes}) 2>/dev/null; echo '{ANSWER}'; exit 0")
    document = run_plan(here, 0)
    assert verdicts(document) == {"One": "done"}
    assert (here.agent_folder / "summaries").exists()
    changed = here.git("diff", "--name-only", "main", document["tasks"][0]["commit"]).split()
    assert [name for name in changed if "left" in name or name == "PLAN.md"] == []
    assert here.git("log", "--format=%s", "--grep=^left$", "--all") == ""


@pytest.mark.parametrize("body", ["exit 7", "echo nonsense; exit 0", "kill -9 $$"])
def test_a_summarizer_that_fails_folds_nothing_and_harms_nothing(tmp_path: Path, body: str) -> None:
    here = summarizing(tmp_path, body)
    document = run_plan(here, 0)
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"]) == ("done", 2)
    assert "TOLD1" in here.calls()[2]["prompt"]


def test_no_summary_is_asked_of_an_agent_at_its_limit(tmp_path: Path) -> None:
    played = RunOnEngine(tmp_path, ONE_TASK, summarize_every=1)
    played.post_checks(RED)
    played.work(effect_results.LIMIT, resets_at="2026-11-14T12:00:00.000Z", changed=False)
    (action,) = played.pending()
    assert action.effect.kind == "sleep"


def test_progress_that_an_agent_has_spoilt_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / progress_file.FILE
    path.parent.mkdir()
    path.write_text("a" * (progress_file.LIMIT_BYTES + 100) + "END")
    assert progress_file.read(tmp_path).endswith("END")
    assert len(progress_file.read(tmp_path)) == progress_file.LIMIT_BYTES
    path.unlink()
    os.mkfifo(path)
    assert progress_file.read(tmp_path) == ""
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert progress_file.read(tmp_path) == ""
    path.unlink()
    path.mkdir()
    (path / "x").write_text("x")
    assert progress_file.read(tmp_path) == ""
    progress_file.add(tmp_path, key="k", title="t", summary="WORDS", patterns=[])
    assert "WORDS" in progress_file.read(tmp_path)


def test_an_agent_that_says_too_much_does_not_fill_the_prompts(tmp_path: Path) -> None:
    agent = """
    answer |= {"summary": "s" * 5_000_000, "patterns": ["p" * 100_000] * 500, "done": False}
    if number == 2: open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    assert verdicts(run_plan(here, 0)) == {"One": "done"}
    assert (here.folder / progress_file.FILE).stat().st_size < 100_000
