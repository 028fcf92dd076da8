"""`bridle run PLAN.md > run.log 2>&1`, inside the repository: the file has every line, whatever the agents do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import DOES_NOTHING, ONE_TASK, assert_replays, receipt_of
from tests.run.fixtures.fake_agent import wait_until

COMMITS_ALL = "open('one', 'w').close(); os.system('git add -A; git commit -q -m all')"
WRITING_CHECK = "# One\n\n## One\nCheck: `echo x > made; test -f one`\n"


def run_into(here: Project, *words: str, how: str = "> run.log 2>&1") -> int:
    """Run a command with its output in a file of the repository; return the exit code."""
    script = f'"$0" "$@" {how}'
    command = ["bash", "-o", "pipefail", "-c", script, str(BRIDLE), *words]
    done = subprocess.run(command, cwd=here.folder, env=here.environment(), timeout=LIMIT_SECONDS, check=False)
    return done.returncode


def log_of(here: Project) -> str:
    return (here.folder / "run.log").read_text()


def last_document(text: str) -> dict[str, object]:
    """The receipt that the output ends with."""
    document: dict[str, object] = json.loads(text.splitlines()[-1])
    return document


@pytest.mark.parametrize("how", ["> run.log 2>&1", "2>&1 | tee run.log > /dev/null"])
def test_a_rollback_keeps_every_line(tmp_path: Path, how: str) -> None:
    here = make_project(tmp_path, ONE_TASK, DOES_NOTHING)
    assert run_into(here, "run", "PLAN.md", "--json", "--tries", "2", how=how) == 1
    assert last_document(log_of(here))["iterations"] == 2
    assert here.git("status", "--porcelain") == "?? run.log"
    assert_replays(here)


def test_it_is_in_no_commit_and_no_report_also_if_the_agent_adds_it_to_git(tmp_path: Path) -> None:
    here = make_project(tmp_path, WRITING_CHECK, COMMITS_ALL)
    assert run_into(here, "run", "PLAN.md", "--json") == 0
    document = last_document(log_of(here))
    assert "run.log" not in json.dumps(document)
    assert here.git("ls-tree", "--name-only", "HEAD").split() == ["PLAN.md", "one"]
    assert here.git("status", "--porcelain") == "?? run.log"


def test_a_rollback_after_a_kill_keeps_the_file_of_the_run_before(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "if number == 1:\n    time.sleep(600)")
    with (here.folder / "run.log").open("wb") as log:
        command = [str(BRIDLE), "run", "PLAN.md", "--json", "--tries", "2"]
        with subprocess.Popen(command, cwd=here.folder, env=here.environment(), stdout=log, stderr=log) as child:
            try:
                wait_until(here.calls)
            finally:
                child.kill()
    text = log_of(here)
    receipt_of(here.bridle("resume", "--json"), 1)
    assert text
    assert log_of(here) == text


def test_the_file_of_a_resumed_run_that_was_killed_is_in_no_commit_and_no_report(tmp_path: Path) -> None:
    agent = "if number == 2:\n    time.sleep(600)\nif number > 2: open('one', 'w').close()"
    here = make_project(tmp_path, ONE_TASK, agent)
    receipt_of(here.bridle("run", "PLAN.md", "--json", "--max-iterations", "1"), 3)
    with (here.folder / "new.txt").open("wb") as log:
        command = [str(BRIDLE), "resume", "--max-iterations", "9"]
        with subprocess.Popen(command, cwd=here.folder, env=here.environment(), stdout=log, stderr=log) as child:
            try:
                wait_until(lambda: len(here.calls()) == 2)
            finally:
                child.kill()
    done = here.bridle("resume", "--json")
    document = receipt_of(done, 0)
    assert "new.txt" not in done.stderr + json.dumps(document)
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one"
    assert here.git("status", "--porcelain") == "?? new.txt"
    assert_replays(here)


@pytest.mark.parametrize("ignores", ["", "*.txt\n"])
def test_a_file_that_one_driver_wrote_to_is_not_the_work_of_an_agent_or_a_change_of_the_user(
    tmp_path: Path, ignores: str
) -> None:
    plan = f"# One\n\n## One\nCheck: `test -f {tmp_path / 'beside/outside'}`\n"
    agent = f"if number == 2: open({str(tmp_path / 'beside/outside')!r}, 'w')"
    here = make_project(tmp_path, plan, agent, **{".gitignore": f"x\n{ignores}"})
    assert run_into(here, "run", "PLAN.md", "--max-iterations", "1", how="> run.txt 2>&1") == 3
    how = ">> run.txt 2>&1" if ignores else ">> more.txt 2>&1"
    assert run_into(here, "resume", "--max-iterations", "9", "--json", how=how) == 0
    text = (here.folder / how.split()[1]).read_text()
    assert last_document(text)["verdict"] == "done"
    assert "you added" not in text
    assert here.git("status", "--porcelain") == ("" if ignores else "?? more.txt\n?? run.txt")
