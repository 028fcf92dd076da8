"""`bridle run` at its limits: time, usage limits, waits that survive, agents that fall over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridle.journal.files import FileStore
from bridle.loop import naps
from tests.loop.loops import BRIDLE, LIMIT_SECONDS, Loop, loop
from tests.loop.test_run import ONE, agrees, receipt, run, verdicts
from tests.run.agents import eventually

LIMITED = """
if number == 1:
    show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
    end("success", True, "You've hit your limit")
open(task.lower(), "w").close()
"""


@contextmanager
def begun(here: Loop, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command in the background, in a group of its own, which is ended with the block."""
    child = subprocess.Popen(
        [str(BRIDLE), *words],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def the_run(here: Loop) -> Path:
    (folder,) = (here.folder / ".a5c/runs").glob("[!.]*")
    return folder


def napping(here: Loop) -> naps.Nap | None:
    is_there = any((here.folder / ".a5c/runs").glob("[!.]*"))
    return naps.current(FileStore(the_run(here))) if is_there else None


def test_a_run_whose_time_is_over_goes_on_only_with_more_of_it(tmp_path: Path) -> None:
    agent = """
    if not os.path.exists(os.path.join(os.path.dirname(calls), "quick")): time.sleep(600)
    open("one", "w").close()
    """
    here = loop(tmp_path, ONE, agent)
    done = here.bridle("run", "PLAN.md", "--json", "--max-time", "3")
    assert receipt(done, 3)["tasks"][0]["verdict"] == "pending"
    (here.beside / "quick").touch()
    before = len(here.calls())
    again = here.bridle("resume")
    assert again.returncode == 3
    assert "the time is over" in again.stdout
    assert "--max-time" in again.stdout
    assert len(here.calls()) == before  # nobody is started who could not finish
    document = receipt(here.bridle("resume", "--json", "--max-time", "1h"), 0)
    assert verdicts(document) == {"One": "done"}
    assert document["limits"]["max_seconds"] == 3600
    agrees(here)


def test_a_wait_for_a_usage_limit_survives_a_kill_and_can_be_cut_short(tmp_path: Path) -> None:
    here = loop(tmp_path, ONE, LIMITED)
    with begun(here, "run", "PLAN.md", "--json") as first:
        eventually(lambda: napping(here) is not None)
        nap = napping(here)
        assert nap is not None
        assert 3000 < nap.until_seconds - time.time() <= 3610
        os.killpg(first.pid, signal.SIGKILL)
    waiting = json.loads(here.bridle("status", "--json").stdout)
    assert "waiting for a usage limit" in waiting["tasks"][0]["reason"]
    with begun(here, "resume", "--json") as second:
        eventually(lambda: str(second.pid) in (the_run(here) / "bridle-drive.lock").read_text())
        assert napping(here) == nap
        assert naps.end(FileStore(the_run(here)), nap)
        said, _ = second.communicate(timeout=LIMIT_SECONDS)
    assert second.returncode == 0
    (task,) = json.loads(said)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 2, 0)
    assert len(here.calls()) == 2
    agrees(here)


def test_status_tells_of_a_run_that_is_at_work(tmp_path: Path) -> None:
    here = loop(tmp_path, ONE, "time.sleep(600)")
    with begun(here, "run", "PLAN.md") as child:
        eventually(here.calls)
        document = receipt(here.bridle("status", "--json"), 0)
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
    here = loop(tmp_path, ONE, agent)
    with begun(here, "run", "PLAN.md") as child:
        eventually(lambda: napping(here) is not None)
        nap = napping(here)
        assert nap is not None
        assert nap.until_seconds == moment + 10
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130


def test_iterations_that_cost_and_led_nowhere_are_told_apart_from_those_that_were_verified(tmp_path: Path) -> None:
    here = loop(tmp_path, ONE, "open('one' if number == 3 else f'wrong{number}', 'w').close()")
    document = run(here, 0)
    assert (document["verified_usd"], document["wasted_usd"]) == (0.01, 0.02)
    shown = here.bridle("status").stdout
    assert "0.0100 USD for verified iterations, 0.0200 USD wasted" in shown
    assert "30 tokens in, 6 out" in shown
