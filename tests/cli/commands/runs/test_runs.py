"""`bridle runs` lists runs with state, plan, age, cost and branch, newest first; commands take what it shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, in_background
from tests.run.fixtures.fake_agent import wait_until

ASKS = "answer['question'], answer['done'] = 'which?', False"


def test_an_empty_repository_has_no_runs(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    done = here.bridle("runs")
    assert (done.returncode, done.stdout) == (0, "no runs here; start one with: bridle run PLAN.md\n")
    assert json.loads(here.bridle("runs", "--json").stdout) == {"runs": [], "count": 0}


def test_runs_are_listed_newest_first_and_commands_take_their_ids(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"if number == 2: {ASKS}\nelse: {MAKES_FILE}")
    first = json.loads(here.bridle("run", "PLAN.md", "--json").stdout)
    here.git("switch", "-q", "main")
    second = json.loads(here.bridle("run", "--json").stdout)
    (here.folder / ".a5c/runs/broken").mkdir()
    (here.folder / ".a5c/runs/broken/run.json").write_text("{")
    listed = json.loads(here.bridle("runs", "--json").stdout)["runs"]
    assert [(run["run"], run["state"]) for run in listed] == [
        ("broken", "unreadable"),
        (second["run"], "waiting"),
        (first["run"], "done"),
    ]
    assert [run["branch"] for run in listed[1:]] == [second["branch"], first["branch"]]
    assert [(run["cost_usd"], run["verified"], run["tasks"]) for run in listed[1:]] == [(0.01, 0, 1), (0.01, 1, 1)]
    assert listed[1]["reason"] == "an agent asks you: One"
    lines = here.bridle("runs").stdout.splitlines()
    shown = [line.split() for line in lines if not line.startswith(" ")]
    assert [words[0] for words in shown] == ["broken", second["run"], first["run"]]
    assert shown[2][1] == "done"
    assert "0.0100 USD  1/1" in lines[-1]
    for name in (shown[2][0], shown[2][0][:-1]):
        assert json.loads(here.bridle("status", name, "--json").stdout)["run"] == first["run"]
    assert here.bridle("runs", "--count", "1").stdout.splitlines()[-1] == "and 2 older: bridle runs --count 0"


def test_a_run_at_work_is_running_with_what_it_does(tmp_path: Path) -> None:
    waits = "open(calls + '-on', 'w').close()\nwhile os.path.exists(calls + '-on'): time.sleep(0.01)\n"
    here = make_project(tmp_path, ONE_TASK, f"{waits}{MAKES_FILE}")
    flag = here.agent_folder / "calls-on"
    with in_background(here, "run", "PLAN.md"):
        wait_until(flag.exists)
        (run,) = json.loads(here.bridle("runs", "--json").stdout)["runs"]
        assert (run["state"], run["now"][0]["task"], run["now"][0]["agent"]) == ("running", "One", "claude")
        assert here.bridle("runs").stdout.splitlines()[1].startswith("  One: claude, iteration 1, ")
        flag.unlink()


def test_a_run_that_was_undone_is_listed_as_undone_and_takes_nothing_more(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"{MAKES_FILE}\n{ASKS}")
    run = json.loads(here.bridle("run", "PLAN.md", "--json").stdout)["run"]
    assert here.bridle("undo", "--yes").returncode == 0
    assert json.loads(here.bridle("runs", "--json").stdout)["runs"][0]["state"] == "undone"
    shown = here.bridle("status").stdout
    assert "this run was undone" in shown
    assert "bridle answer" not in shown, "its question is no longer open"
    for words in (
        ("hint", "use x"),
        ("retry", "One"),
        ("answer", "this one", "--resume"),
        ("answer", "One", "this", run),
    ):
        done = here.bridle(*words)
        assert (done.returncode, "was undone" in done.stderr or "no open question" in done.stderr) == (2, True), done
    assert here.bridle("answer", "--list").stdout == f"{run}: no open questions\n"
