"""A shortage of threads is the machine's fault: it is named, and costs no task a try and no iteration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, receipt_of

# From the start of the agent on, no thread can start: its stack would be larger than the memory.
WITHOUT_THREADS = """
import resource, sys, threading
from bridle.cli.main import main
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
def watch(event, arguments):
    if event == "subprocess.Popen" and str(arguments[0]).endswith("/claude"):
        threading.stack_size(4 << 30)
sys.addaudithook(watch)
main()
"""


def test_a_shortage_of_threads_costs_no_try_and_no_iteration(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THREADS, "run", "PLAN.md", "--json"],
        cwd=here.folder,
        env=here.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "the system cannot start another thread" in done.stderr
    assert "crashed" not in done.stderr
    document = receipt_of(here.bridle("resume", "--json"), 0)
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"], document["iterations"]) == ("done", 0, 1)
