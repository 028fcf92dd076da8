"""How often a run starts git, and how often it looks at all files: after the agent and after the check."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

from tests.loop.fixtures.fake_agent import Project, make_project

TASKS = 4
PLAN = "# Plan\n\nChecks: `true`\n\n" + "\n".join(f"## Task {n}\nMake it.\n" for n in range(1, TASKS + 1))
AGENT = """
import pathlib, subprocess
with open(calls + "-of-git", "a") as log:
    log.write("agent\\n")
pathlib.Path(task + ".txt").write_text(task)
"""
# A driver lists the start tree once, for its submodules.
ONCE = "ls-tree"
WALKS = frozenset({"add", "status"})
# Where a commit, tree or file is packed, or both sides changed one file, git does what Bridle does without it.
ITERATION = ["add", "status"]
# The second look is after the check of the merged commit.
PARALLEL_ITERATION = ["add", "status", "status"]
# Each of two workers lists the settings, and copies the index that git has written for its new worktree.
FIRST_LOOKS = 2 * ["config", "ls-files", "update-index", "add", "write-tree", "write-tree"]
# The worktree of the second worker may be made after the first worker's agent has begun.
SECOND_WORKTREE = ["worktree", "rev-parse", "rev-parse"]


def run(here: Project, *arguments: str) -> list[list[str]]:
    """Run the plan with a git that logs its calls; return the subcommands between each agent and the next."""
    log = here.agent_folder / "calls-of-git"
    program = here.folder.parent / "programs/git"  # not where an agent can write: Bridle would not use it
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$*\" >>'{log}'\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = here.bridle("run", "PLAN.md", *arguments, PATH=path)
    assert done.returncode == 0, done.stderr
    parts: list[list[str]] = [[]]
    for line in log.read_text().splitlines():
        if line == "agent":
            parts.append([])
        else:
            parts[-1].append(_subcommand(line.split(" ")))
    return parts[1:]


def _subcommand(words: list[str]) -> str:
    while words[0].startswith("-"):
        words = words[2:] if words[0] == "-c" else words[1:]
    return words[0]


def test_a_serial_iteration_looks_twice_and_starts_two_gits(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    first, *iterations, _ = run(here)
    assert [word for word in first if word != ONCE] == ITERATION
    assert iterations == [ITERATION] * (TASKS - 2)
    assert here.git("status", "--porcelain") == ""
    assert here.git("diff-index", "--name-only", "HEAD") == ""
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").splitlines() == [f"Task {n}" for n in range(1, 5)]
    assert list((here.folder / ".git").glob("bridle-*.index*")) == []


def test_files_of_the_user_that_are_not_tracked_cost_no_other_look(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    (here.folder / "mine").mkdir()
    for name in ("mine/a.txt", "mine/b.txt", "c.txt"):
        (here.folder / name).write_text(name)
    *iterations, _ = run(here)
    assert [len([word for word in words if word in WALKS]) for words in iterations] == [2] * (TASKS - 1)
    assert max(len([word for word in words if word != ONCE]) for words in iterations) <= 11
    assert [words.count(ONCE) for words in iterations[1:]] == [0] * (TASKS - 2)
    assert here.git("status", "--porcelain").splitlines() == ["?? c.txt", "?? mine/"]
    assert here.git("diff-index", "--name-only", "HEAD") == ""


def test_a_parallel_iteration_starts_one_git_more(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    started = Counter(word for words in run(here, "--parallel", "2") for word in words if word != ONCE)
    started -= Counter({word: number for word, number in started.items() if word.startswith("/")})  # of the sandbox
    assert started <= Counter(PARALLEL_ITERATION * TASKS + FIRST_LOOKS + SECOND_WORKTREE), started
    branch = here.git("branch", "--list", "--format=%(refname:short)", "bridle/*").strip()
    assert sorted(here.git("log", "--format=%s", f"main..{branch}").splitlines()) == [f"Task {n}" for n in range(1, 5)]
    assert here.git("fsck", "--no-dangling", "--no-progress") == ""
