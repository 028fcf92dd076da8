"""`bridle run` at its limits: time, usage limits, waits that survive, agents that fall over."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pending_waits
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import (
    ONE_TASK,
    assert_replays,
    current_wait,
    in_background,
    receipt_of,
    run_folder,
    run_plan,
    verdicts,
)
from tests.run.fixtures.fake_agent import wait_until

LIMITED = """
if number == 1:
    show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
    end("success", True, "You've hit your limit")
open(task.lower(), "w").close()
"""


def test_a_run_whose_time_is_over_goes_on_only_with_more_of_it(tmp_path: Path) -> None:
    agent = """
    if not os.path.exists(os.path.join(os.path.dirname(calls), "quick")): time.sleep(600)
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    done = here.bridle("run", "PLAN.md", "--json", "--max-time", "3")
    assert receipt_of(done, 3)["tasks"][0]["verdict"] == "pending"
    assert "bridle: the time limit is reached" in done.stderr
    (here.agent_folder / "quick").touch()
    before = len(here.calls())
    again = here.bridle("resume")
    assert again.returncode == 3
    assert "the time limit is reached" in again.stdout
    assert "--max-time" in again.stdout
    assert len(here.calls()) == before  # nobody is started who could not finish
    document = receipt_of(here.bridle("resume", "--json", "--max-time", "1h"), 0)
    assert verdicts(document) == {"One": "done"}
    assert document["limits"]["max_seconds"] == 3600
    assert_replays(here)


def test_a_usage_limit_that_outlasts_the_run_is_not_waited_for(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, LIMITED)
    began = time.time()
    done = here.bridle("run", "PLAN.md", "--max-time", "10m")
    assert done.returncode == 3
    shown = " ".join(done.stdout.split())
    found = re.search(r"the usage limit resets at (\S+), in (\S+), but the run has only (\S+) left; resume it", shown)
    assert found is not None, done.stdout
    lifted = datetime.fromisoformat(found[1]).timestamp()
    assert began + 3600 <= lifted <= time.time() + 3610
    assert ("0:50:00", "0:05:00") < (found[2], found[3]) < ("1:00:11", "0:10:01")
    for words in (("status",), ("status", "--json")):
        assert "the usage limit resets at" in here.bridle(*words).stdout
    assert json.loads(here.bridle("status", "--json").stdout)["stopped"] in shown
    assert len(here.calls()) == 1
    assert_replays(here)
    assert here.bridle("resume").returncode == 0  # at once, as somebody wants it: more may have been paid for
    assert len(here.calls()) == 2
    assert_replays(here)


def test_with_more_time_a_usage_limit_is_waited_for_after_all(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, LIMITED.replace("number == 1", "number < 3"))
    assert here.bridle("run", "PLAN.md", "--max-time", "10m").returncode == 3
    with in_background(here, "resume", "--max-time", "2h"):
        wait_until(lambda: current_wait(here) is not None)
    assert len(here.calls()) == 2
    assert_replays(here)


def test_a_wait_for_a_usage_limit_survives_a_kill_and_can_be_cut_short(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, LIMITED)
    with in_background(here, "run", "PLAN.md", "--json") as first:
        wait_until(lambda: current_wait(here) is not None)
        nap = current_wait(here)
        assert nap is not None
        assert 3000 < nap.until_seconds - time.time() <= 3610
        os.killpg(first.pid, signal.SIGKILL)
    waiting = json.loads(here.bridle("status", "--json").stdout)
    assert "waiting for a usage limit" in waiting["tasks"][0]["reason"]
    assert waiting["waiting"]["for"] == "usage limit: One"
    moment = datetime.fromisoformat(waiting["waiting"]["until"])
    assert moment.timestamp() == nap.until_seconds
    assert f"waiting    usage limit: One, until {waiting['waiting']['until']}" in here.bridle("status").stdout
    with in_background(here, "resume", "--json") as second:
        wait_until(lambda: str(second.pid) in (run_folder(here) / "bridle-drive.lock").read_text())
        assert current_wait(here) == nap
        assert pending_waits.end(FileStore(run_folder(here)), nap)
        said, _ = second.communicate(timeout=LIMIT_SECONDS)
    assert second.returncode == 0
    (task,) = json.loads(said)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 2, 0)
    assert len(here.calls()) == 2
    assert_replays(here)


def test_status_tells_of_a_run_that_is_running(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "time.sleep(600)")
    with in_background(here, "run", "PLAN.md") as child:
        wait_until(here.calls)
        document = receipt_of(here.bridle("status", "--json"), 0)
        assert verdicts(document) == {"One": "pending"}
        assert document["tasks"][0]["iterations"] == 1
        assert here.bridle("stop").returncode == 0
        child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130


def test_a_text_alone_says_until_when(tmp_path: Path) -> None:
    moment = int(time.time()) + 7200
    agent = f"""
    if number == 1: end("success", True, "Claude AI usage limit reached|{moment}")
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    with in_background(here, "run", "PLAN.md") as child:
        wait_until(lambda: current_wait(here) is not None)
        nap = current_wait(here)
        assert nap is not None
        assert nap.until_seconds == moment + 10
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130


def test_iterations_that_cost_and_led_nowhere_are_distinguished_from_those_that_were_verified(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('one' if number == 3 else f'wrong{number}', 'w').close()")
    document = run_plan(here, 0)
    assert (document["verified_usd"], document["wasted_usd"]) == (0.01, 0.02)
    shown = here.bridle("status").stdout
    assert "0.0100 USD for verified iterations, 0.0200 USD wasted" in shown
    assert "30 tokens in, 6 out" in shown


def test_on_a_terminal_the_wait_is_counted_down_and_a_key_ends_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, LIMITED)
    ours, theirs = pty.openpty()
    # A shell that leads its session and opens a terminal has it as its own, and so has what takes its place.
    words = ["sh", "-c", 'exec "$1" run PLAN.md < "$0" 2> "$0"', os.ttyname(theirs), str(BRIDLE)]
    child = subprocess.Popen(
        words,
        cwd=here.folder,
        env=here.environment(TERM="xterm", COLUMNS="120", LINES="40"),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    with child:
        try:
            shown = read_until(ours, rb"waiting for usage limit: One: (?:59:\d\d|1:00:\d\d) left, until")
            assert b"press s to try now" in shown
            os.write(ours, b"s")
            read_until(ours, rb"wait skipped")
            read_until(ours, rb"committed")
            wait_until(lambda: drained(ours) and child.poll() is not None)
            assert child.returncode == 0
        finally:
            child.kill()
            os.close(ours)
            os.close(theirs)
    assert len(here.calls()) == 2


def drained(terminal: int) -> bool:
    """Take what is there, so that nobody waits to be read."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 65536)
    return True


def read_until(terminal: int, pattern: bytes) -> bytes:
    """What a terminal shows until that is there."""
    shown = b""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not re.search(pattern, shown):
        is_ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert is_ready, shown[-2000:]
        shown += os.read(terminal, 65536)
    return shown


def test_a_question_sets_its_work_aside_and_the_answer_brings_it_back(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\nCheck: `test -f one && test -f half`\n\n## Two\nCheck: `test -f two`\n"
    agent = r"""
    if number == 1:
        open("half", "w").write("HALF")
        answer |= {"question": "Which colour?", "done": False}
    elif task == "One":
        kept = prompt.split("tree of ")[1].split(":")[0]
        os.system(f"git checkout -q {kept} -- half")
        open("one", "w").close()
    else:
        open("two", "w").close()
    """
    here = make_project(tmp_path, plan, agent)
    document = run_plan(here, 4)
    assert verdicts(document) == {"One": "needs you", "Two": "done"}
    assert here.git("show", "--name-only", "--format=", "HEAD") == "two"
    assert not (here.folder / "half").exists()
    done = here.bridle("answer", document["tasks"][0]["effect"], "green", "--resume", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done", "Two": "done"}
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["half", "one"]
    assert_replays(here)


def test_a_bound_that_bounds_nothing_is_refused(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "")
    run_plan(here, 3, "--max-iterations", "1")
    wrong = {"--max-cost": ("nan", "-1"), "--max-iterations": ("0",), "--tries": ("0",), "--max-time": ("-3", "never")}
    for name, values in wrong.items():
        for value in values:
            done = here.bridle("resume", f"{name}={value}")
            assert done.returncode == 2, (name, value, done.stderr)
            assert name in done.stderr
    assert len(here.calls()) == 1


def test_the_budget_of_the_workspace_stops_the_run_and_fails_no_task(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "if number == 2: open('one', 'w').close()")
    budget = here.folder / ".ralph/state/budget.json"
    budget.parent.mkdir(parents=True)
    budget.write_text(json.dumps({"max_cost_usd": 0.01}))
    done = here.bridle("run", "PLAN.md", "--json")
    receipt = receipt_of(done, 3)
    (task,) = receipt["tasks"]
    assert (task["verdict"], task["tries"]) == ("pending", 1)
    assert (receipt["iterations"], task["iterations"], len(here.calls())) == (1, 1, 1)
    assert "not started: the budget is spent: 0.0100 of 0.0100 USD" in done.stderr
    assert "the budget is spent" in here.bridle("resume").stdout
    budget.write_text(json.dumps({"max_cost_usd": 1.0}))
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}
    assert_replays(here)
