"""What agents used that did not come to their end is counted with the iteration that they were started for."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

from bridle.ground import prices
from bridle.journal.stores.file_store import FileStore
from bridle.loop.performers.earlier_attempts import interrupted_work, spent_before
from bridle.run.request import Request
from tests.loop.fixtures.fake_agent import make_project

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
    here = make_project(tmp_path, PLAN, DIES)
    done = here.bridle("run", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [task] = document["tasks"]
    assert (task["iterations"], len(here.calls())) == (1, 2)
    lost = prices.cost_usd("claude-sonnet-4-5", input_tokens=1000, output_tokens=100, input_includes_cached=False)
    assert lost is not None
    assert task["cost_usd"] == document["cost_usd"] == pytest.approx(0.01 + lost)
    assert (task["input_tokens"], task["output_tokens"]) == (1010, 102)


def log(workspace: Path, stamp: str, cost: float, **meta: object) -> Path:
    """The files of an agent that gave a result."""
    folder = workspace / ".ralph/logs/claude"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stamp}-coder-One.ndjson"
    result = {"type": "result", "subtype": "success", "total_cost_usd": cost, "usage": {"input_tokens": 7}}
    path.write_text(json.dumps(result) + "\n")
    described = {"agent": "claude", "purpose": "run/One: iteration 1", **meta}
    (folder / f"{stamp}-coder-One.meta.json").write_text(json.dumps(described))
    return path


def test_only_agents_of_this_iteration_are_counted_and_the_last_one_is_not_counted_twice(tmp_path: Path) -> None:
    log(tmp_path, "20261112T095959.999Z", 1.0, driver="K", seconds=5.0)  # the clock was set forward after it
    log(tmp_path, "20261115T100000.000Z", 2.0, driver="D", seconds=7.0)
    log(tmp_path, "20261115T100001.000Z", 4.0, purpose="run/One: iteration 2")
    log(tmp_path, "20261115T100002.000Z", 8.0, purpose="other/One: iteration 1")
    log(tmp_path, "20261115T100003.000Z", 16.0, purpose=None)
    log(tmp_path, "20261115T100004.000Z", 32.0)
    last = log(tmp_path, "20261115T100005.000Z", 64.0)
    asked = Request(prompt="-", cwd=tmp_path, purpose="run/One: iteration 1", task="One", driver="D")
    spent = spent_before(asked, last, {})
    assert (spent.cost_usd, spent.input_tokens) == (35.0, 21)
    assert spent.seconds == 5  # the time of its own driver is part of the last one's
    assert spent_before(asked, None, {}).cost_usd == 99


def test_a_log_that_was_cut_off_or_has_no_description_harms_nothing(tmp_path: Path) -> None:
    log(tmp_path, "20261115T100000.000Z", 2.0).write_bytes(b'{"type": "result", "total_co')
    (tmp_path / ".ralph/logs/claude/20261115T100001.000Z-coder-One.ndjson").write_bytes(b"\xff\n")
    last = log(tmp_path, "20261115T100005.000Z", 64.0)
    asked = Request(prompt="-", cwd=tmp_path, purpose="run/One: iteration 1", task="One")
    assert spent_before(asked, last, {}).cost_usd == 0


# It says what it has cost, and takes Bridle with it.
KILLS = """
show(type="result", subtype="success", is_error=False, result="x", total_cost_usd=3.0, usage={"input_tokens": 1},
     session_id="s", num_turns=1, duration_ms=1, permission_denials=[])
sys.stdout.flush()
time.sleep(1)
kill_bridle()
time.sleep(600)
"""


def test_who_is_killed_again_and_again_in_one_iteration_comes_to_the_limit_of_its_cost(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, KILLS)
    assert here.bridle("run", "--max-cost", "5").returncode == -9
    assert here.bridle("resume").returncode == -9
    done = here.bridle("resume")
    assert done.returncode == 3
    assert "6.0000 of 5 USD are spent, including interrupted iterations" in done.stdout
    assert len(here.calls()) == 2
    assert here.bridle("resume", "--max-cost", "7").returncode == -9
    assert len(here.calls()) == 3


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_an_agent_that_puts_odd_things_among_the_logs_does_not_stop_the_run(tmp_path: Path) -> None:
    odd = """
    folder = os.path.join(os.getcwd(), ".ralph/logs/claude")
    os.symlink("nowhere", os.path.join(folder, "20990101T000000.000Z-coder-One.ndjson"))
    os.mkfifo(os.path.join(folder, "20990101T000001.000Z-coder-One.ndjson"))
    os.mkdir(os.path.join(folder, "20990101T000002.000Z-coder-One.ndjson"))
    open("one", "w").close()
    """
    done = make_project(tmp_path, PLAN, odd).bridle("run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cost_usd"] == 0.01


def test_agents_of_another_run_and_of_other_tasks_are_not_counted(tmp_path: Path) -> None:
    """Titles in other scripts all have the same name in a folder."""
    plan = "# Two\n\n## Раз\nCheck: `test -f 1`\n\n## Два\nCheck: `test -f 2`\n"
    kills = "if task == 'Раз': open('1', 'w').close()\nelse:\n" + textwrap.indent(KILLS, "    ")
    here = make_project(tmp_path, plan, kills)
    runs: list[str] = []
    for _ in range(2):
        assert here.bridle("run", "PLAN.md", "--max-cost", "5").returncode == -9
        runs += [path.name for path in (here.folder / ".a5c/runs").glob("[!.]*") if path.name not in runs]
        here.git("checkout", "-q", "-f", "main")
    store = [FileStore(here.folder / ".a5c/runs" / run) for run in runs]
    assert [interrupted_work(one, [here.folder], {}).usage.cost_usd for one in store] == [3.0, 3.0]


def test_files_that_are_no_logs_are_not_taken_for_agents(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, KILLS)
    assert here.bridle("run", "--max-cost", "2").returncode == -9
    folder = here.folder / ".ralph/logs/claude"
    for name in ("zzz.ndjson", "2099.ndjson", "20991399T999999.999Z-coder-One.ndjson"):
        (folder / name).write_text("x")
        (folder / name.replace(".ndjson", ".meta.json")).write_text(json.dumps({"task": "One"}))
    (folder / "20990101T000000.000Z-gone.ndjson").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "20990101T000001.000Z-pipe.ndjson")
    (folder / "20990101T000002.000Z-folder.ndjson").mkdir()
    (folder / "20990101T000003.000Z-odd.ndjson").write_text("x")
    os.mkfifo(folder / "20990101T000003.000Z-odd.meta.json")
    done = here.bridle("resume")
    assert (done.returncode, "3.0000 of 2 USD are spent" in done.stdout) == (3, True), done.stderr
