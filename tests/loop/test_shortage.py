"""A shortage of threads or processes is the machine's fault: it is named, and costs no task a try and no iteration."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, receipt_of

# From the start of the agent on, no thread can start: its stack would be larger than the memory.
WITHOUT_THREADS = """
import resource, sys, threading
from bridle.cli.main import main
from bridle.ground.descendants import keeper_client
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
start_child = keeper_client.start_child
def start_without_threads(descriptors):
    threading.stack_size(4 << 30)
    start_child(descriptors)
keeper_client.start_child = start_without_threads
main()
"""

# From the start of the agent on, Bridle can take no more memory than this.
WITHOUT_MEMORY = """
import resource
from bridle.cli.main import main
from bridle.ground.descendants import keeper_client
start_child = keeper_client.start_child
def start_without_memory(descriptors):
    start_child(descriptors)
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (20 << 20), -1))
keeper_client.start_child = start_without_memory
main()
"""

# The keeper, which starts the agent, can start no process. No limit holds for root: another real user has it.
WITHOUT_PROCESSES = """
import sys
from pathlib import Path
from bridle.cli.main import main
from bridle.ground.descendants import keeper_client
limited = Path("../limited_keeper.py").resolve()
limited.write_text(
    "import os, resource, runpy\\n"
    "if os.geteuid() == 0: os.setresuid(54321, 0, 0)\\n"
    "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\\n"
    f"runpy.run_path({str(keeper_client._PROGRAM)!r}, run_name='__main__')\\n"
)
keeper_client._PROGRAM = limited
main()
"""
_EXEMPT = "-sys_resource,-sys_admin"  # the capabilities of processes that no such limit holds for
_LIMITED = ["setpriv", f"--bounding-set={_EXEMPT}", f"--inh-caps={_EXEMPT}"] if os.geteuid() == 0 else []


def assert_continues(here: Project, done: subprocess.CompletedProcess[str], message: str) -> None:
    """The run has ended with that message, and its next driver does the task without a lost try."""
    assert done.returncode == 1
    assert message in done.stderr
    assert "crashed" not in done.stderr
    document = receipt_of(here.bridle("resume", "--json"), 0)
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"], document["iterations"]) == ("done", 0, 1)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (WITHOUT_THREADS, "the system cannot start another thread"),
        (WITHOUT_PROCESSES, "Resource temporarily unavailable"),
        (WITHOUT_MEMORY, "the machine has no memory or no threads left"),
    ],
    ids=["threads", "processes", "memory"],
)
def test_a_shortage_at_the_start_of_an_agent_costs_no_try_and_no_iteration(
    tmp_path: Path, script: str, message: str
) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    done = here.execute([*_LIMITED, sys.executable, "-c", script, "run", "PLAN.md", "--json"])
    assert_continues(here, done, message)


@pytest.mark.without_sandbox("becomes another user")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_check_whose_shell_cannot_start_a_process_costs_no_try_and_no_iteration(tmp_path: Path, shell: str) -> None:
    lead = "setpriv --reuid=54321 --clear-groups " if os.geteuid() == 0 else ""
    flag = "-u" if shell == "bash" else "-p"
    enough = tmp_path / "enough"
    check = f"test -f one && {{ test -f {enough} || {lead}{shell} -c 'ulimit {flag} 1; /bin/true; true'; }}"
    here = make_project(tmp_path, "# One\n\n## One\nCheck: `sh test.sh`\n", MAKES_FILE, **{"test.sh": check})
    done = here.bridle("run", "PLAN.md", "--json")
    enough.touch()
    assert_continues(here, done, "could not start a process")


def test_a_limit_on_file_sizes_that_ends_git_is_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    done = here.execute(["sh", "-c", f"ulimit -f 0; exec {shlex.quote(str(BRIDLE))} run PLAN.md"])
    assert done.returncode == 1
    assert "was ended by SIGXFSZ, because the limit on file sizes (ulimit -f)" in done.stderr
    assert "Raise the limit on file sizes (ulimit -f) and run again." in done.stderr
    assert here.calls() == []
