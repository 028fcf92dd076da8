"""Which logs `bridle show` finds by the name of a run, a task or an iteration, from every folder of the repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.bridle_program import BRIDLE, read_until
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.run.fixtures.fake_agent import wait_until

PLAN = "# T\n" + "".join(f"\n## {task}\nCheck: `test -f {task}.txt`\n" for task in ("Alpha", "Alpine", "Beta"))
SECRET = "correct-horse-battery"
# The first agent crashes and is started again; Alpine needs two iterations.
AGENT = (
    f"SECRET = {SECRET!r}"
    """
show(type="assistant", message={"id": f"m{number}", "role": "assistant", "content": [
    {"type": "text", "text": f"start {number} for {task}"}]}, parent_tool_use_id=None)
if number == 1:
    for line in range(30):
        print(f"line {line}", file=sys.stderr)
    print("boom: " + SECRET, file=sys.stderr)
    sys.exit(3)
if number != 3:
    open(f"{task}.txt", "w").close()
"""
)
RESULT = '{"type":"result","subtype":"success","is_error":false,"result":"looked","session_id":"s"}'
HEADINGS = (
    "══ Alpha: iteration 1 (claude)",
    "══ Alpha: iteration 1, attempt 2 (claude)",
    "══ Alpine: iteration 1 (claude)",
    "══ Alpine: iteration 2 (claude)",
    "══ Beta: iteration 1 (claude)",
)


def show(here: Project, *arguments: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
    """`bridle show` in a folder of the repository."""
    (here.folder / folder).mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [str(BRIDLE), "show", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=here.folder / folder,
        env=here.environment(MY_TOKEN=SECRET),
        timeout=LIMIT_SECONDS,
        check=False,
    )


def headings(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    assert done.returncode == 0, done.stderr
    return tuple(line for line in done.stdout.splitlines() if line.startswith("══"))


def driven(folder: Path, *options: str) -> tuple[Project, str]:
    """A repository whose run has ended, and the run's id."""
    here = make_project(folder, PLAN, AGENT)
    done = here.bridle("run", "--json", *options, MY_TOKEN=SECRET)
    assert done.returncode == 0, done.stderr
    return here, json.loads(done.stdout)["run"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A run that changes nothing more; the tests only read it. An agent left a named pipe as the newest log."""
    here, run = driven(tmp_path_factory.mktemp("ended"))
    os.mkfifo(here.folder / ".ralph/logs/claude/29991231T000000-coder-beta.ndjson")
    return here, run


def test_a_run_is_every_agent_that_worked_for_it_with_crashed_attempts(ended: tuple[Project, str]) -> None:
    here, run = ended
    assert headings(show(here, run)) == HEADINGS
    assert headings(show(here, run[:-3])) == HEADINGS
    assert headings(show(here, f".a5c/runs/{run}")) == HEADINGS
    assert headings(show(here, run, folder="deep/down")) == HEADINGS


def test_a_crash_is_shown_with_its_exit_code_and_the_masked_end_of_stderr(ended: tuple[Project, str]) -> None:
    here, _ = ended
    shown = show(here, "Alpha").stdout
    assert "● start 1 for Alpha\n\n── ✗ the agent's process ended: exit code 3, it printed no result\n" in shown
    assert "   … 21 earlier lines of stderr\n   stderr › line 21\n" in shown
    assert "            boom: ***\n" in shown
    assert SECRET not in shown
    assert "line 0\n" in show(here, "Alpha", "--full").stdout


@pytest.mark.parametrize("name", ["2", "Alpine", "alpine", "Alpi", "pine"])
@pytest.mark.parametrize("folder", [".", "deep/down"])
def test_a_task_of_the_newest_run_is_found_by_number_and_title(
    ended: tuple[Project, str], name: str, folder: str
) -> None:
    here, run = ended
    assert headings(show(here, name, folder=folder)) == HEADINGS[2:4]
    assert headings(show(here, run, name, folder=folder)) == HEADINGS[2:4]
    assert headings(show(here, name, "--iteration", "2", folder=folder)) == HEADINGS[3:4]


def test_the_newest_log_is_found_from_a_folder_below(ended: tuple[Project, str]) -> None:
    here, _ = ended
    assert show(here, folder="deep/down").stdout == show(here).stdout
    assert "● start 5 for Beta\n" in show(here, folder="deep/down").stdout


def write_log(folder: Path, words: str, seconds: int) -> None:
    logs = folder / ".ralph" / "logs" / "claude"
    logs.mkdir(parents=True)
    message = {"role": "assistant", "content": [{"type": "text", "text": words}]}
    (logs / "log.ndjson").write_text(json.dumps({"type": "assistant", "message": message}))
    os.utime(logs / "log.ndjson", (seconds, seconds))


@pytest.mark.parametrize(
    ("folder", "newest"), [(".", "one"), ("other/deep", "one"), ("one", "."), (".hidden", "other/deep/down")]
)
def test_the_newest_log_of_the_repository_is_found_wherever_its_agent_worked(
    tmp_path: Path, folder: str, newest: str
) -> None:
    (tmp_path / ".git").mkdir()
    for number, place in enumerate((".", "one", "other/deep/down", "node_modules/package")):
        write_log(tmp_path / place, f"log of {place}", 2000 if place == newest else 1000 + number)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([str(BRIDLE), "show"], cwd=tmp_path / folder, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[0], done.stderr) == (f"● log of {newest}", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Al"], "'Al' could be task 1 'Alpha', task 2 'Alpine'"),
        (["RUN", "Al"], "'Al' could be task 1 'Alpha', task 2 'Alpine'"),
        (["Gamma"], "there is no file, run or task 'Gamma'"),
        (["0"], "there is no file, run or task '0'"),
        (["RUN", "Gamma"], "has no task 'Gamma'"),
        (["Alpha", "--iteration", "2"], "task 1 'Alpha' has no iteration 2"),
        (["Gamma", "Alpha"], "no run 'Gamma'"),
        (["-", "Alpha"], "standard input has no tasks"),
    ],
)
def test_a_wrong_name_is_refused_with_the_choices(
    ended: tuple[Project, str], arguments: list[str], message: str
) -> None:
    here, run = ended
    done = show(here, *(run if argument == "RUN" else argument for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    if "Gamma" in arguments[-1]:
        assert "Tasks of the run: task 1 'Alpha', task 2 'Alpine', task 3 'Beta'." in done.stderr


def test_a_name_that_is_a_run_and_a_task_and_a_file_is_ambiguous(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN.replace("Alpha", "other"), AGENT, other="a log without a suffix")
    (here.folder / "process.py").write_text("async def process(inputs, ctx): return await ctx.breakpoint(inputs)\n")
    (here.folder / "inputs.json").write_text("{}")
    entry = ("--entry", "process.py#process", "--inputs", "inputs.json", "--run-id", "other-run")
    assert here.bridle("run:create", "--process-id", "p", *entry).returncode == 0
    assert here.bridle("run", "--json", "--allow-dirty", "--max-iterations", "2", MY_TOKEN=SECRET).returncode in (1, 3)
    done = show(here, "other")
    assert done.returncode == 2
    assert "'other' could be run other-run, task 1 'other', the file ./other\n" in done.stderr
    assert show(here, "./other").stdout.splitlines()[0] == "stray line › a log without a suffix"


def test_the_logs_of_worktrees_are_found_and_json_names_each_conversation(tmp_path: Path) -> None:
    here, run = driven(tmp_path, "--worktree")
    assert headings(show(here, run)) == HEADINGS
    document = json.loads(show(here, "Alpha", "--json").stdout)
    assert (document["run"], len(document["conversations"])) == (run, 2)
    first, second = document["conversations"]
    assert (first["task"], first["iteration"], first["attempt"], second["attempt"]) == ("Alpha", 1, 1, 2)
    assert first["items"][-1]["type"] == "process_end"
    assert first["items"][-1]["exit_code"] == 3
    assert SECRET not in json.dumps(document)


def test_the_agents_of_a_process_are_found_by_title_and_effect(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, AGENT)
    program = here.agent_folder / "claude"
    started = here.agent_folder / "started"
    program.write_text(f"#!/bin/sh\n[ -e {started} ] || {{ touch {started}; exit 3; }}\necho '{RESULT}'\n")
    (here.folder / "process.py").write_text(
        "from bridle import define_task\n"
        "review = define_task('review', lambda args, task: {'kind': 'agent', 'title': f'Review {args}',"
        " 'agent': {'prompt': 'look'}})\n"
        "async def process(inputs, ctx):\n"
        "    return [await ctx.task(review, name) for name in ('one', 'two')]\n"
    )
    (here.folder / "inputs.json").write_text("{}")
    entry = ("--entry", "process.py#process", "--inputs", "inputs.json", "--run-id", "reviews")
    assert here.bridle("run:create", "--process-id", "p", *entry).returncode == 0
    done = here.bridle("drive", "reviews", MY_TOKEN=SECRET)
    assert done.returncode == 0, done.stderr
    titles = ("══ Review one (claude)", "══ Review one, attempt 2 (claude)", "══ Review two (claude)")
    assert headings(show(here, "reviews")) == titles
    assert headings(show(here, "Review two")) == titles[2:]
    listed = json.loads(here.bridle("task:list", "reviews", "--json").stdout)
    assert headings(show(here, listed["tasks"][1]["effectId"])) == titles[2:]


WAITING = """
show(type="assistant", message={"id": f"m{number}", "role": "assistant", "content": [
    {"type": "text", "text": f"start {number} for {task}"}]}, parent_tool_use_id=None)
while not os.path.exists(os.path.join(os.path.dirname(calls), f"go{number}")):
    time.sleep(0.05)
open(f"{task}.txt", "w").close()
"""


def test_a_run_is_followed_from_agent_to_agent_until_it_ends(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WAITING)
    common: dict[str, Any] = {"cwd": here.folder, "env": here.environment(), "stdin": subprocess.DEVNULL}
    with subprocess.Popen([str(BRIDLE), "run", "--json"], stdout=subprocess.PIPE, **common) as run:
        try:
            wait_until(lambda: any(here.folder.glob(".ralph/logs/claude/*.meta.json")))
            (run_folder,) = (here.folder / ".a5c/runs").glob("[!.]*")
            with subprocess.Popen(
                [str(BRIDLE), "show", run_folder.name, "-f"], stdout=subprocess.PIPE, **common
            ) as shown:
                assert shown.stdout is not None
                for number, task in enumerate(("Alpha", "Alpine", "Beta"), start=1):
                    written = read_until(shown.stdout.fileno(), f"start {number} for {task}")
                    assert f"══ {task}: iteration 1 (claude)" in written
                    (here.agent_folder / f"go{number}").touch()
                rest = shown.communicate(timeout=LIMIT_SECONDS)[0].decode()
                assert "✓ finished" in rest
                assert shown.returncode == 0
            run.communicate(timeout=LIMIT_SECONDS)
            assert run.returncode == 0
        finally:
            for number in range(1, 4):
                (here.agent_folder / f"go{number}").touch()
