"""`bridle run` in ordinary repositories, and the ways in which a person steers it."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.current_state import read_receipt, replay_receipt
from bridle.loop.control.runs import RunEnd, drive_loop_run
from bridle.loop.control.start_run import check_start, create
from bridle.loop.plan.read_plan import read_plan
from bridle.loop.process.receipt import Receipt
from bridle.loop.settings.model import Settings
from tests.fixtures.bridle_program import BRIDLE
from tests.fixtures.sandbox import pid_here
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    trailers,
    verdicts,
)
from tests.run.fixtures.fake_agent import all_dead, wait_until

MAKEFILE = "test:\n\tsh tests.sh\n"


def test_a_green_repository_with_a_guard_for_all_tasks(tmp_path: Path) -> None:
    plan = "# Work\n\nChecks: `make test`\n\n## One\nMake one.\n\n## Two\nMake two.\n"
    here = make_project(tmp_path, plan, MAKES_FILE, Makefile=MAKEFILE, **{"tests.sh": "true\n"})
    document = run_plan(here, 0)
    assert set(verdicts(document).values()) == {"done (guard only)"}
    assert len(document["commits"]) == 2
    assert trailers(here, "HEAD")["Bridle-Checks"] == "1 passed"
    assert_replays(here)


def test_checks_that_need_ignored_files_find_them(tmp_path: Path) -> None:
    package = json.dumps(
        {"name": "a", "version": "1.0.0", "scripts": {"test": "node -e \"require('dep')\" && cat one"}}
    )
    here = make_project(
        tmp_path,
        "# Work\n\n## One\nCheck: `npm test --silent`\n",
        "open('one', 'w').close()",
        **{"package.json": package, ".gitignore": "node_modules\n"},
    )
    (here.folder / "node_modules/dep").mkdir(parents=True)
    (here.folder / "node_modules/dep/index.js").write_text("")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one"


def test_a_task_that_takes_three_red_iterations(tmp_path: Path) -> None:
    here = make_project(
        tmp_path, "# Work\n\n## One\nCheck: `test $(wc -l < one) -eq 4`\n", "open('one', 'a').write('x\\n')"
    )
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 4, 3)
    assert trailers(here, "HEAD")["Bridle-Iteration"] == "4"
    assert_replays(here)


def test_a_goal_is_one_task_with_the_checks_of_the_settings(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('one', 'w').close()", **{"bridle.toml": 'checks = ["test -f one"]\n'})
    document = receipt_of(here.bridle("run", "Make a file", "--json"), 0)
    assert [task["verdict"] for task in document["tasks"]] == ["done (guard only)"]


def test_a_refused_tool_call_goes_into_the_next_prompt(tmp_path: Path) -> None:
    agent = """
    if number == 1:
        refused = [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "curl SOMEWHERE"}}]
        show(type="result", subtype="success", is_error=False, result="done", num_turns=1, duration_ms=1,
             total_cost_usd=0.01, usage={"input_tokens": 1, "output_tokens": 1}, permission_denials=refused)
        sys.exit(0)
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["iterations"], task["tries"]) == (2, 1)
    assert "Bash: curl SOMEWHERE" in here.calls()[1]["prompt"]


def test_an_agent_that_answers_in_no_form_is_judged_by_its_work(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE + "\nend()")
    document = run_plan(here, 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert document["iterations"] == 2
    assert_replays(here)


def test_what_was_learned_is_passed_to_the_next_agent(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE + "\nanswer['patterns'] = ['LEARNED ' + task]")
    run_plan(here, 0)
    first, second = here.calls()
    assert "LEARNED One" not in first["prompt"]
    assert "LEARNED One" in second["prompt"]
    assert (here.folder / ".ralph/progress.md").read_text().count("LEARNED") == 2
    assert here.git("ls-files", ".ralph") == ""


def test_uncommitted_changes_are_kept_where_the_user_allows_them(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE, mine="a")
    (here.folder / "mine").write_text("b")
    document = run_plan(here, 0, "--allow-dirty")
    assert verdicts(document) == {"One": "done"}
    assert (here.folder / "mine").read_text() == "b"


@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_an_interrupted_run_leaves_no_process_and_resume_goes_on(tmp_path: Path, numbers: list[signal.Signals]) -> None:
    agent = """
    open("half", "w").close()
    open(os.path.join(os.path.dirname(calls), "pid"), "w").write(json.dumps(who()))
    if number == 1: time.sleep(600)
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    child = subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md", "--json"],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    noted = here.agent_folder / "pid"
    wait_until(lambda: noted.exists() and noted.read_text())
    for number in numbers:
        child.send_signal(number)
    said, _ = child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130
    assert json.loads(said)["resume"].startswith("bridle resume ")
    wait_until(lambda: all_dead([pid_here(*json.loads(noted.read_text()))]))
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert verdicts(document) == {"One": "done"}
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["half", "one"]
    assert_replays(here)


def test_stop_ends_a_run_as_interrupted(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "time.sleep(600)")
    child = subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md"],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(here.calls)
    done = here.bridle("stop", "--json")
    assert json.loads(done.stdout)["was_at_work"] is True
    assert child.wait(LIMIT_SECONDS) == 130


def test_the_work_of_a_killed_agent_is_not_taken_for_already_satisfied(tmp_path: Path) -> None:
    """The agent makes the check green and dies; its task is done by an iteration, with a commit."""
    agent = """
    open("one", "w").close()
    if number <= 2: os.kill(os.getpid(), 9)
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    (task,) = run_plan(here, 0)["tasks"]
    assert task["verdict"] == "done"
    assert here.git("show", "--name-only", "--format=", task["commit"]) == "one"


def test_an_own_check_of_the_repository_guards_every_task(tmp_path: Path) -> None:
    here = make_project(
        tmp_path, ONE_TASK, "open('one', 'w').write('x' * (number > 1))", **{".ralph/check": "#!/bin/sh\ntest -s one\n"}
    )
    (here.folder / ".ralph/check").chmod(0o755)
    here.git("commit", "-q", "-a", "-m", "executable")
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"]) == ("done", 2)


def test_at_a_usage_limit_the_next_agent_takes_over_and_no_try_is_counted(tmp_path: Path) -> None:
    agent = """
    if os.path.basename(sys.argv[0]) == "claude":
        show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
        end("success", True, "You've hit your limit")
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    other = shutil.copy(here.agent_folder / "claude", here.agent_folder / "other")
    agents = ("--agent", "claude,bridle-agent")
    done = here.bridle("run", "PLAN.md", "--json", *agents, BRIDLE_BRIDLE_AGENT=str(other))
    (task,) = receipt_of(done, 0)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 2, 0)


def test_retry_can_go_on_at_once(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "if number > 1: open(task.lower(), 'w').close()")
    run_plan(here, 1, "--tries", "1")
    assert verdicts(receipt_of(here.bridle("retry", "one", "--resume", "--json"), 0)) == {"One": "done", "Two": "done"}


def test_only_verified_tasks_are_ticked(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\n- [ ] there\n\nCheck: `test -f one`\n\n## Two\n- [ ] there\n\nCheck: `test -f never`\n"
    here = make_project(tmp_path, plan, MAKES_FILE)
    run_plan(here, 1, "--tick", "--tries", "1")
    assert (here.folder / "PLAN.md").read_text() == plan.replace("[ ]", "[x]", 1)


GUARDED = "# T\n\nChecks: `true`\n\n## One\nMake it.\n\n## Two\nMake it.\n"


def test_a_run_goes_on_on_its_branch_whatever_the_user_has_checked_out(tmp_path: Path) -> None:
    """Its files that are not on another branch have not been deleted by anybody."""
    here = make_project(tmp_path, GUARDED, MAKES_FILE, mine="a")
    run_plan(here, 3, "--max-iterations", "1")
    here.git("checkout", "-q", "main")
    (here.folder / "mine").write_text("b")
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    document = receipt_of(done, 0)
    assert f"bridle: main was checked out; switched back to {document['branch']}" in done.stderr.splitlines()
    changes = here.git("log", "--reverse", "--name-status", "--format=", "main..").splitlines()
    assert changes == ["A\tone", "M\tmine", "A\ttwo"]
    assert_replays(here)


def test_where_the_way_back_would_overwrite_something_it_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    here = make_project(tmp_path, GUARDED, "open('shared', 'a').write(task); open('made', 'w')", shared="")
    document = run_plan(here, 3, "--max-iterations", "1")
    here.git("checkout", "-q", "main")
    (here.folder / "shared").write_text("of the person")
    (here.folder / "made").write_text("too")
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    assert done.returncode == 2, done.stderr
    assert (
        "main is checked out, and untracked files (made) and uncommitted changes (shared) prevent a checkout of the "
        f"run's branch {document['branch']}" in done.stderr
    )
    assert f"git checkout {document['branch']} && bridle resume" in done.stderr
    assert (here.folder / "shared").read_text() == "of the person"
    assert len(here.calls()) == 1
    here.git("checkout", "-q", "--", "shared")
    (here.folder / "made").unlink()
    done = here.bridle("resume", "--json", "--max-iterations", "9")  # what was refused has changed no limit
    assert verdicts(receipt_of(done, 0)) == dict.fromkeys(("One", "Two"), "done (guard only)")
    assert_replays(here)


def test_a_run_whose_branch_was_deleted_says_so_and_makes_no_other(tmp_path: Path) -> None:
    here = make_project(tmp_path, GUARDED, MAKES_FILE)
    document = run_plan(here, 3, "--max-iterations", "1")
    here.git("checkout", "-q", "main")
    here.git("branch", "-q", "-D", document["branch"])
    done = here.bridle("resume", "--max-iterations", "9")
    assert done.returncode == 2, done.stderr
    assert f"the branch {document['branch']} of this run does not exist any more" in done.stderr
    again = f"git branch {document['branch']} {document['commits'][0]} && bridle resume"
    assert again in " ".join(done.stderr.split())
    here.git("branch", "-q", document["branch"], document["commits"][0])
    receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0)
    assert here.git("ls-files").split() == ["PLAN.md", "one", "two"]


def test_resume_ticks_as_the_run_would_have(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\n- [ ] there\n\nCheck: `test -f one`\n\n## Two\n- [ ] there\n\nCheck: `test -f two`\n"
    here = make_project(tmp_path, plan, MAKES_FILE)
    run_plan(here, 3, "--tick", "--max-iterations", "1")
    assert (here.folder / "PLAN.md").read_text() == plan.replace("[ ]", "[x]", 1)
    assert "found" not in receipt_of(here.bridle("resume", "--json", "--max-iterations", "2"), 0)
    assert (here.folder / "PLAN.md").read_text() == plan.replace("[ ]", "[x]")


def test_resume_without_any_run_is_wrong_usage(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    assert here.bridle("resume").returncode == 2
    assert here.bridle("status").returncode == 2


def test_the_driver_reports_the_receipt_that_a_replay_of_the_journal_returns(tmp_path: Path) -> None:
    agent = """
    if number == 1: answer["question"] = "Which colour?"
    elif task == "Two": open("two", "w").close()
    """
    here = make_project(tmp_path, "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n", agent)
    receipts: list[Receipt] = []

    async def drive() -> RunEnd:
        plan, settings, environment = read_plan("PLAN.md", here.folder, Settings()), Settings(), here.environment()
        request = await check_start(here.folder, plan, settings, environment)
        run = create(request, here.folder / ".a5c/runs")
        return await drive_loop_run(run, environment, lambda _line: None, on_receipt=receipts.append)

    end = asyncio.run(drive())
    store = FileStore(here.folder / ".a5c/runs" / end.receipt.run)
    assert receipts[-1] == replay_receipt(store)
    assert end.receipt == read_receipt(store.run)
    assert [task.verdict for task in end.receipt.tasks] == ["needs you", "done"]
    assert [receipt.iterations for receipt in receipts[:1] + receipts[-1:]] == [0, 2]
