"""What agents used that did not come to their end is counted with the iteration that they were started for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.ground import prices
from bridle.loop.attempts import spent_before
from bridle.run.request import Request
from tests.loop.loops import loop

PLAN = "# One\n\n## One\nCheck: `test -f one`\n"
# It says what it has used so far, and dies; the retry ends well.
DIES = """
usage = {"input_tokens": 1000, "output_tokens": 100}
show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant", "model": "claude-sonnet-4-5",
     "content": [{"type": "text", "text": "I begin."}], "usage": usage})
if number == 1: os._exit(70)
open("one", "w").close()
"""


def test_an_agent_that_died_and_was_tried_again_is_counted(tmp_path: Path) -> None:
    here = loop(tmp_path, PLAN, DIES)
    done = here.bridle("run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [task] = document["tasks"]
    assert (task["iterations"], len(here.calls())) == (1, 2)
    lost = prices.cost_usd("claude-sonnet-4-5", input_tokens=1000, output_tokens=100, input_includes_cached=False)
    assert lost is not None
    assert task["cost_usd"] == document["cost_usd"] == pytest.approx(0.01 + lost)
    assert (task["input_tokens"], task["output_tokens"]) == (1010, 102)


def log(folder: Path, stamp: str, cost: float, **meta: object) -> Path:
    """The files of an agent that gave a result."""
    path = folder / f"{stamp}-coder-One.ndjson"
    result = {"type": "result", "subtype": "success", "total_cost_usd": cost, "usage": {"input_tokens": 7}}
    path.write_text(json.dumps(result) + "\n")
    described = {"agent": "claude", "task": "One", "mode": "coder", "cwd": str(folder), **meta}
    (folder / f"{stamp}-coder-One.meta.json").write_text(json.dumps(described))
    return path


def test_only_agents_of_this_iteration_are_counted_and_the_last_one_is_not_counted_twice(tmp_path: Path) -> None:
    log(tmp_path, "20261115T095959.999Z", 1.0)  # of the iteration before
    log(tmp_path, "20261115T100000.000Z", 2.0)
    log(tmp_path, "20261115T100001.000Z", 4.0, task="Two")
    log(tmp_path, "20261115T100002.000Z", 8.0, mode="planner")
    log(tmp_path, "20261115T100003.000Z", 16.0, cwd="/elsewhere")
    log(tmp_path, "20261115T100004.000Z", 32.0)
    last = log(tmp_path, "20261115T100005.000Z", 64.0)
    asked = Request(prompt="-", cwd=tmp_path, task="One")
    spent = spent_before(asked, last, "2026-11-15T10:00:00.000Z")
    assert (spent.cost_usd, spent.input_tokens) == (34.0, 14)
    assert spent_before(asked, last, None).cost_usd == 0
    assert spent_before(asked, None, "2026-11-15T10:00:00.000Z").cost_usd == 0


def test_a_log_that_was_cut_off_or_has_no_description_harms_nothing(tmp_path: Path) -> None:
    log(tmp_path, "20261115T100000.000Z", 2.0).write_bytes(b'{"type": "result", "total_co')
    (tmp_path / "20261115T100001.000Z-coder-One.ndjson").write_bytes(b"\xff\n")
    last = log(tmp_path, "20261115T100005.000Z", 64.0)
    asked = Request(prompt="-", cwd=tmp_path, task="One")
    assert spent_before(asked, last, "2026-11-15T10:00:00.000Z").cost_usd == 0
