"""Which run the commands of the loop mean, from wherever they are started."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import receipt_of, verdicts
from tests.run.fixtures.fake_agent import wait_until

PLAN = "# T\n\n## One\nCheck: `test -f one`\n"
WORKS = "open(task.lower(), 'w').close()"


def below(here: Project, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder below the top."""
    folder = here.folder / "deep/down"
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [str(BRIDLE), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
        env=here.environment(**environment),
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_a_run_is_found_from_every_folder_of_its_repository(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    run = json.loads(here.bridle("run", "--json").stdout)["run"]
    for command in ("status", "resume"):
        done = below(here, command, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["run"] == run
    assert below(here, "replay", run[:12]).returncode == 0
    assert below(here, "audit").returncode == 0


def test_a_folder_of_runs_that_the_user_chose_is_used_by_all_commands(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    chosen = {"BABYSITTER_RUNS_DIR": str(tmp_path / "runs")}
    done = here.bridle("run", "--json", **chosen)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / json.loads(done.stdout)["run"] / "run.json").is_file()
    assert not (here.folder / ".a5c").exists()
    assert here.bridle("status", "--json", **chosen).stdout == done.stdout


@pytest.mark.parametrize("command", ["status", "resume", "retry"])
def test_a_run_of_another_process_is_refused_with_the_commands_for_it(tmp_path: Path, command: str) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    (here.folder / "process.py").write_text("async def process(inputs, ctx): return await ctx.breakpoint(inputs)\n")
    (here.folder / "inputs.json").write_text('{"plan": "of another process"}')
    entry = ("--entry", "process.py#process", "--inputs", "inputs.json", "--run-id", "other")
    created = here.bridle("run:create", "--process-id", "p", *entry)
    assert created.returncode == 0, created.stderr
    done = here.bridle(command, *(["One"] if command == "retry" else []), "other")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run other is not a run of the loop, but of the process p" in done.stderr
    assert "bridle run:status other" in done.stderr
    assert here.bridle("run:status", "other").returncode == 0
    assert here.bridle("drive", "other").returncode == 4


@pytest.mark.parametrize("inputs", [None, "{}"], ids=str)
def test_a_run_of_the_loop_without_its_plan_is_reported_with_the_file(tmp_path: Path, inputs: str | None) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    assert here.bridle("run", "PLAN.md").returncode == 0
    file = next(here.folder.glob(".a5c/runs/*/inputs.json"))
    file.unlink() if inputs is None else file.write_text(inputs)
    done = here.bridle("status")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the file {file} of this run is invalid" in done.stderr
    assert "is not a run of the loop" not in done.stderr


def test_where_there_is_no_run_the_message_says_where_it_looked(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    done = here.bridle("status")
    assert done.returncode == 2
    assert str(here.folder / ".a5c/runs") in done.stderr


def test_a_missing_agent_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    done = here.bridle("run", BRIDLE_CLAUDE="/nowhere/claude")
    assert done.returncode == 5, done.stderr
    assert "/nowhere/claude" in done.stderr
    assert not (here.folder / ".a5c").exists()
    assert here.git("branch", "--show-current") == "main"


def test_who_works_who_pays_and_the_limits_are_reported_before_the_start(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    done = here.bridle("run", "--max-cost", "3", ANTHROPIC_API_KEY="sk-forgotten-0000000000")
    assert done.returncode == 0, done.stderr
    before = done.stderr.split("[1/1]")[0]
    assert (
        f"agent claude ({here.agent_folder / 'claude'}), auth: login (ANTHROPIC_API_KEY is set but not used" in before
    )
    assert "at most 50 iterations, 5 tries a task, 8 hours, 3 USD" in before
    assert "sk-forgotten" not in done.stderr


def test_an_agent_of_the_list_that_is_missing_is_named_and_the_others_work(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    done = here.bridle("run", "--agent", "codex,claude", "--json", BRIDLE_CODEX="/nowhere/codex")
    assert done.returncode == 0, done.stderr
    assert "/nowhere/codex" in done.stderr
    assert json.loads(done.stdout)["verdict"] == "done"


def test_two_runs_do_not_work_in_one_working_copy_and_status_says_which_one_does(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, "while not os.path.exists(calls + '-go'): time.sleep(0.05)\n" + WORKS)
    first = subprocess.Popen(
        [str(BRIDLE), "run", "--json"],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    wait_until(here.calls)
    branch = here.git("branch", "--show-current")
    second, again = here.bridle("run"), here.bridle("resume")
    status, document = here.bridle("status").stdout, json.loads(here.bridle("status", "--json").stdout)
    (here.agent_folder / "calls-go").touch()
    said, _ = first.communicate(timeout=LIMIT_SECONDS)
    run = json.loads(said)["run"]
    assert first.returncode == 0
    for refused in (second, again):
        assert refused.returncode == 2, refused.stderr
        assert f"another run is active in {here.folder}: {run} (process {first.pid}, since " in refused.stderr
        assert "bridle stop" in refused.stderr
    assert [path.name for path in (here.folder / ".a5c/runs").glob("[!.]*")] == [run]
    assert here.git("branch", "--show-current") == branch == f"bridle/{run.lower()}"
    assert document["at_work"]["pid"] == first.pid
    assert status.startswith(f"· PLAN.md: 0 of 1 task verified (running, process {first.pid})\n")
    assert status.endswith(f"  stop       bridle stop {run}\n")
    assert here.bridle("resume").returncode == 0
    assert "at work" not in here.bridle("status").stdout


def test_an_agent_that_is_not_logged_in_is_reported_once_with_what_to_do(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, "end('success', True, 'Not logged in · Please run /login')")
    done = here.bridle("run")
    assert done.returncode == 5, done.stderr
    output = " ".join((done.stderr + done.stdout).split())  # the receipt wraps the reason
    assert output.count("logged in") == output.count("claude is not logged in. Run claude and log in") == 1, output


@pytest.mark.without_sandbox("the agent changes the plan, which is read-only there")
@pytest.mark.parametrize(
    "deed", ["os.remove(plan)", "open(plan, 'wb').write(b'\\xff')", "os.remove(plan); os.mkdir(plan)"]
)
def test_a_run_whose_plan_cannot_be_ticked_has_its_receipt(tmp_path: Path, deed: str) -> None:
    plan = tmp_path / "plan.md"
    here = make_project(tmp_path / "p", "# P\n", f"import os; plan = {str(plan)!r}\nopen('a', 'w').close()\n{deed}")
    plan.write_text("# P\n\n## One\nCheck: `test -f a`\n")
    done = here.bridle("run", str(plan), "--tick", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert "the plan was not ticked: " in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_receipt_is_printed_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    assert here.bridle("run", PYTHONIOENCODING=encoding).returncode == 0
    done = here.bridle("status", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout.split()[0]) == (0, "\\u2713")
    assert json.loads(here.bridle("status", "--json", PYTHONIOENCODING=encoding).stdout)["verdict"] == "done"
