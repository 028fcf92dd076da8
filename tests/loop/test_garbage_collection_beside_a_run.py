"""A user's `git gc --prune=now` in an endless loop beside a run."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, assert_replays, run_plan, verdicts

NAMES = ("one", "two", "three")
PLAN = "# T\n" + "".join(f"\n## {name}\nCheck: `test -f {name}`\n" for name in NAMES)
LOOP = "while true; do git gc -q --prune=now; git reflog expire --expire=now --all; done"


@contextmanager
def collecting(here: Project, output: Path) -> Iterator[None]:
    with output.open("wb") as file:
        words = ["sh", "-c", LOOP]
        child = subprocess.Popen(
            words, cwd=here.folder, env=here.environment(), stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.parametrize("options", [(), ("--parallel", "2")])
def test_every_object_of_a_run_stays(tmp_path: Path, options: tuple[str, ...]) -> None:
    here = make_project(tmp_path, PLAN, f"open('shared', 'a').close()\n{MAKES_FILE}", base="base\n")
    (here.folder / "mine").write_text("mine\n")
    with collecting(here, tmp_path / "gc"):
        document = run_plan(here, 0, *options)
    assert verdicts(document) == dict.fromkeys(NAMES, "done")
    said = (tmp_path / "gc").read_text().splitlines()
    assert {line for line in said if "gc is already running" not in line} == set()
    (here.folder / ".git/gc.pid").unlink(missing_ok=True)  # of the loop that was killed
    assert here.git("fsck", "--no-dangling") == ""
    for ref in here.git("for-each-ref", "--format=%(refname)", "refs/bridle").splitlines():
        here.git("rev-list", "--objects", "--quiet", ref)
    assert_replays(here)
    assert here.bridle("undo", "--yes").returncode == 0
    assert (here.folder / "mine").read_text() == "mine\n"
