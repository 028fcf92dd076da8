"""Attack: an agent steers runs of other repositories, or its own run by way of a repository that it makes.

It may steer only runs that it has begun itself: in a repository and with a BRIDLE_HOME that are newer than the agent.
A link, a worktree, a copy of a run, another setting of the working copy or the token of an outer agent do not help, and
nothing is signed with the user's key. So Bridle's own tests can be a check of a run.

With the sandbox: the same; there, other runs are read-only or hidden too.
Without: refused.
Reported: to the agent; without the sandbox also in the journal of the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from bridle.cli.main import run as bridle
from bridle.ground.children.capture import capture
from tests.attacks.fixtures.agent_calls import git

AGENT = r"""
import asyncio, json, os, shutil, subprocess, sys
from contextlib import redirect_stdout
from pathlib import Path
from bridle.cli.main import run as bridle
from bridle.ground.children.capture import capture

OLD, OLD_HOME, OLD_RUN, FOLDER = map(Path, sys.argv[1:5])
LINES = "import sys; from bridle.cli.main import run; sys.exit(run(sys.argv[1:]))"
results = {}

def steer(name, folder, home, *words):
    os.chdir(folder)
    os.environ["BRIDLE_HOME"] = str(home)
    with redirect_stdout(sys.stderr):
        results[name] = bridle([*words])

def make(name):
    subprocess.run(["git", "init", "-q", str(FOLDER / name)], check=True)
    return FOLDER / name

new, home = make("new"), FOLDER / "home"
os.environ["BRIDLE_HOME"] = str(home)
os.chdir(new)
with redirect_stdout(sys.stderr):
    bridle(["run:create", "--process-id", "p", "--entry", f"{OLD}/p.py#process", "--run-id", "mine", "--prompt", "x"])
mine = new / ".a5c/runs/mine"
steer("old run, new home", new, home, "run:halt", str(OLD_RUN))
steer("old run and home", new, OLD_HOME, "run:halt", str(OLD_RUN))
steer("own run, old home", new, OLD_HOME, "run:halt", str(mine))
steer("own run, no home", new, OLD_HOME.parent / "none", "run:halt", str(mine))
(new / "link").symlink_to(OLD)
steer("a link", new, home, "run:halt", str(new / "link/.a5c/runs" / OLD_RUN.name))
shutil.copytree(OLD_RUN, new / ".a5c/runs" / OLD_RUN.name)
steer("a copy", new, home, "run:halt", str(new / ".a5c/runs" / OLD_RUN.name))
git = ["git", "-C", str(OLD)]
subprocess.run([*git, "worktree", "add", "-q", "--detach", str(FOLDER / "worktree")], check=True)
steer("a worktree", FOLDER / "worktree", home, "trust")
other = make("other")
subprocess.run(["git", "-C", str(other), "config", "core.worktree", str(OLD)], check=True)
steer("another working copy", other, home, "run", "goal")
shared = make("shared")
(shared / ".git/commondir").write_text(str(OLD / ".git"))
steer("another git folder", shared, home, "run", "goal")
steer("a signature", new, home, "receipt", "--sign", str(mine))
inner = dict(os.environ, OUTER=os.environ["BRIDLE_RUN_TOKEN"])
for name, prefix in (("inner agent", ""), ("inner agent, outer token", "env BRIDLE_RUN_TOKEN=$OUTER "),
                     ("inner agent, no token", "env -u BRIDLE_RUN_TOKEN ")):
    argv = ("/bin/sh", "-c", prefix + '"$@"; exit $?', "sh", sys.executable, "-c", LINES, "run:halt", str(mine))
    done = asyncio.run(capture(argv, cwd=new, environment=inner, limit_seconds=300))
    sys.stderr.write(done.stderr.decode())
    results[name] = done.exit_code
steer("trust in its own home", new, home, "trust")
steer("its own run", new, home, "run:halt", str(mine))
(FOLDER / "results.json").write_text(json.dumps(results))
"""


def test_an_agent_steers_only_runs_that_it_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, old, folder = Path(os.environ["BRIDLE_HOME"]), tmp_path / "old", tmp_path / "agent"
    for path in (home, old, folder):
        path.mkdir(parents=True, exist_ok=True)
    git(old, "init", "-q", "-b", "main")
    git(old, "commit", "-q", "--allow-empty", "-m", "start")
    (old / "p.py").write_text("async def process(inputs, ctx):\n    return 1\n")
    monkeypatch.chdir(old)
    words = ["--process-id", "p", "--entry", f"{old}/p.py#process", "--run-id", "users", "--prompt", "x"]
    assert bridle(["run:create", *words]) == 0
    run = old / ".a5c/runs/users"
    argv = (sys.executable, "-c", AGENT, str(old), str(home), str(run), str(folder))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = asyncio.run(capture(argv, cwd=folder, environment=environment, limit_seconds=600))
    assert done.exit_code == 0, done.stderr
    results = json.loads((folder / "results.json").read_text())
    allowed = {name: results.pop(name) for name in ("its own run", "trust in its own home")}
    assert set(allowed.values()) == {0}
    assert 0 not in results.values(), results
    assert not (home / "trust.json").exists()
    assert done.stderr.count(b"steers a run, and an agent or a check of a run called it") == len(results) == 13
    shutil.rmtree(folder)
    assert bridle(["run:status", str(run), "--json"]) == 0
