"""`bridle run` in real repositories with agents of every kind: honest, lying, breaking, asking, dying."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import (
    DOES_NOTHING,
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_refused,
    assert_replays,
    receipt_of,
    run_plan,
    trailers,
    verdicts,
)
from tests.run.fixtures.fake_agent import wait_until


def test_every_task_is_done_by_a_fresh_agent_and_has_one_commit_with_trailers(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    start = here.git("rev-parse", "main")
    document = run_plan(here, 0)
    assert document["verdict"] == "done"
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert [call["task"] for call in here.calls()] == ["One", "Two"]
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"]
    assert here.git("branch", "--show-current") == document["branch"] == f"bridle/{document['run'].lower()}"
    assert here.git("rev-parse", "main") == start
    for title, commit in zip(("One", "Two"), document["commits"], strict=True):
        said = trailers(here, commit)
        assert said["Bridle-Run"] == document["run"]
        assert said["Bridle-Task"] == title
        assert said["Bridle-Iteration"] == "1"
        assert said["Bridle-Cost"] == "0.0100 USD"
        assert said["Bridle-Checks"].endswith(" passed")
        assert here.git("show", "--name-only", "--format=", commit) == title.lower()
    assert document["cost_usd"] == 0.02
    assert document["wasted_usd"] == 0
    assert here.git("status", "--porcelain") == ""
    assert receipt_of(here.bridle("status", "--json"), 0)["tasks"] == document["tasks"]
    assert_replays(here)
    again = receipt_of(here.bridle("resume", "--json"), 0)
    assert again["tasks"] == document["tasks"]
    assert len(here.calls()) == 2


def test_a_red_iteration_keeps_its_work_and_the_next_one_reads_why(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `cat two || { echo SORELY-MISSED; false; }`\n"
    here = make_project(tmp_path, plan, "open(['', 'one', 'two'][number], 'w').close()")
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 2, 1)
    first, second = here.calls()
    assert "SORELY-MISSED\n" not in first["prompt"]
    assert "SORELY-MISSED\n" in second["prompt"]
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["one", "two"]
    assert_replays(here)


def test_an_agent_that_says_done_and_did_nothing_uses_up_its_tries(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, DOES_NOTHING)
    document = run_plan(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "failed", "Two": "blocked"}
    assert "failed after 2 tries" in document["tasks"][0]["reason"]
    assert document["tasks"][0]["checks"][0]["exit_code"] == 1
    assert document["commits"] == []
    assert document["wasted_usd"] == 0.02
    assert len(here.calls()) == 2
    assert_replays(here)


def test_an_agent_that_says_nothing_and_changes_nothing_is_stuck_with_the_evidence(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "answer['done'] = False")
    (task,) = run_plan(here, 1)["tasks"]
    assert (task["verdict"], task["iterations"]) == ("stuck", 3)
    assert [(check["command"], check["exit_code"]) for check in task["checks"]] == [("test -f one", 1)]


def test_a_protected_test_is_put_back_and_the_next_prompt_says_so(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh check.sh`\n"
    agent = "open('check.sh', 'w').write('true\\n')\nif number == 2: open('one', 'w').close()"
    here = make_project(tmp_path, plan, agent, **{"check.sh": "test -f one\n"})
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"]) == ("done", 2)
    assert any("check.sh" in line for line in task["undone"])
    assert "check.sh" in here.calls()[1]["prompt"].split("## Notes on the last iteration")[1].split("## ")[0]
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one"
    assert (here.folder / "check.sh").read_text() == "test -f one\n"
    assert_replays(here)


def test_a_deleted_test_is_put_back(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh check.sh`\n"
    here = make_project(
        tmp_path, plan, "os.remove('check.sh'); open('one', 'w').close()", **{"check.sh": "test -f one\n"}
    )
    (task,) = run_plan(here, 0)["tasks"]
    assert any("check.sh" in line for line in task["undone"])
    assert here.git("show", "--name-status", "--format=", "HEAD") == "A\tone"


def test_what_may_be_edited_is_kept(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh check.sh`\nMay edit: check.sh\n"
    agent = "open('check.sh', 'a').write('test -f one\\n'); open('one', 'w').close()"
    here = make_project(tmp_path, plan, agent, **{"check.sh": "false ||\n"})
    (task,) = run_plan(here, 0)["tasks"]
    assert task["verdict"] == "done"
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["check.sh", "one"]


def test_a_question_parks_the_task_and_its_answer_reaches_the_same_session(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
    agent = """
    if number == 1: answer |= {"question": "Which colour?", "done": False}
    else: open(task.lower(), 'w').close()
    """
    here = make_project(tmp_path, plan, agent)
    document = run_plan(here, 4)
    assert verdicts(document) == {"One": "needs you", "Two": "done"}
    asked = document["tasks"][0]
    assert asked["question"] == "Which colour?"
    assert receipt_of(here.bridle("status", "--json"), 0)["tasks"][0]["effect"] == asked["effect"]
    receipt_of(here.bridle("resume", "--json"), 4)
    assert len(here.calls()) == 2
    told = here.bridle("answer", asked["effect"], "Use green.")
    assert told.returncode == 0, told.stderr
    assert "bridle resume" in told.stdout + told.stderr
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    last = here.calls()[-1]
    assert "Use green." in last["prompt"]
    assert any(word.startswith("--resume=") for word in last["argv"])
    assert not any(word.startswith("--resume") for call in here.calls()[:2] for word in call["argv"])
    assert len(here.calls()) == 3
    assert_replays(here)


def test_an_answer_can_go_on_at_once(tmp_path: Path) -> None:
    agent = """
    if number == 1: answer |= {"question": "Which colour?", "done": False}
    else: open(task.lower(), 'w').close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    asked = run_plan(here, 4)["tasks"][0]
    document = receipt_of(here.bridle("answer", asked["effect"], "green", "--resume", "--json"), 0)
    assert verdicts(document) == {"One": "done"}


def test_an_agent_that_dies_twice_fails_the_task_with_its_last_words(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
    agent = """
    if task == "One":
        open("half", "w").close()
        print("OUT-OF-LUCK", file=sys.stderr, flush=True)
        os._exit(70)
    open("two", "w").close()
    """
    here = make_project(tmp_path, plan, agent)
    document = run_plan(here, 1)
    assert verdicts(document) == {"One": "failed", "Two": "done"}
    assert "OUT-OF-LUCK" in document["tasks"][0]["reason"]
    assert document["tasks"][0]["iterations"] == 2
    assert document["tasks"][0]["tries"] == 0
    assert not (here.folder / "half").exists()
    assert_replays(here)


def test_an_agent_that_hangs_is_ended_and_counts_as_dead(tmp_path: Path) -> None:
    toml = 'idle_timeout = "1s"\nagent_timeout = "2s"\n'
    here = make_project(tmp_path, ONE_TASK, "time.sleep(600)", **{"bridle.toml": toml})
    (task,) = run_plan(here, 1)["tasks"]
    assert task["verdict"] == "failed"
    assert "crashed 2 times" in task["reason"]


def test_the_same_failure_without_a_new_change_is_stuck_and_others_go_on(tmp_path: Path) -> None:
    plan = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
    here = make_project(tmp_path, plan, "open('wrong' if task == 'One' else 'two', 'w').close()")
    document = run_plan(here, 1)
    assert verdicts(document) == {"One": "stuck", "Two": "done"}
    assert document["tasks"][0]["iterations"] == 3
    assert "the same failure 3 times" in document["tasks"][0]["reason"]
    assert not (here.folder / "wrong").exists()
    assert here.git("show", "--name-only", "--format=", "HEAD") == "two"
    assert_replays(here)


def test_work_that_breaks_another_tasks_check_is_reverted(tmp_path: Path) -> None:
    agent = """
    if number == 2: os.rename("one", "two")
    else: open(task.lower(), 'w').close()
    """
    here = make_project(tmp_path, TWO_TASKS, agent)
    document = run_plan(here, 0)
    assert [task["iterations"] for task in document["tasks"]] == [1, 2]
    assert "it broke the checks of One" in here.calls()[2]["prompt"]
    assert (here.folder / "one").exists()
    assert here.git("show", "--name-status", "--format=", "HEAD") == "A\ttwo"
    assert_replays(here)


def test_a_bound_stops_the_run_and_resume_with_a_larger_one_goes_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    document = run_plan(here, 3, "--max-iterations", "1")
    assert verdicts(document) == {"One": "done", "Two": "pending"}
    receipt_of(here.bridle("resume", "--json"), 3)
    assert len(here.calls()) == 1
    document = receipt_of(here.bridle("resume", "--json", "--max-iterations", "2"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert document["limits"]["max_iterations"] == 2
    assert [call["task"] for call in here.calls()] == ["One", "Two"]
    assert_replays(here)


def test_the_run_stops_before_the_iteration_that_would_cost_too_much(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    document = run_plan(here, 3, "--max-cost", "0.015")
    assert document["cost_usd"] == 0.01
    assert verdicts(document) == {"One": "done", "Two": "pending"}


def test_without_any_check_work_is_committed_and_unverified(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# One\n\n## One\nMake it.\n\n## Two\nNeeds: One\nCheck: `test -f two`\n", MAKES_FILE)
    document = run_plan(here, 1)
    assert verdicts(document) == {"One": "unverified", "Two": "done"}
    assert trailers(here, document["commits"][0])["Bridle-Checks"] == "none"
    assert_replays(here)


def test_a_check_that_passes_before_any_work_is_reported_and_no_agent_is_started(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, one="")
    document = run_plan(here, 0)
    assert verdicts(document) == {"One": "already satisfied", "Two": "done"}
    assert [call["task"] for call in here.calls()] == ["Two"]


def test_red_first_refuses_a_check_that_passes_before_any_work(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS.replace("Needs: One\n", ""), MAKES_FILE, one="")
    document = run_plan(here, 1, "--red-first")
    assert verdicts(document) == {"One": "failed", "Two": "done"}
    assert "--red-first" in document["tasks"][0]["reason"]


def test_a_guard_alone_needs_a_change(tmp_path: Path) -> None:
    plan = "# One\n\nChecks: `true`\n\n## One\nMake it.\n"
    here = make_project(tmp_path, plan, "if number == 2: open('one', 'w').close()")
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"]) == ("done (guard only)", 2)


def test_a_changed_tree_is_refused_and_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE, mine="a")
    (here.folder / "mine").write_text("b")
    assert "mine" in assert_refused(here, 2)
    assert here.git("branch", "--show-current") == "main"
    assert (here.folder / "mine").read_text() == "b"


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    (here.folder / ".git").rename(tmp_path / "away")
    assert_refused(here, 2)


def test_a_bad_plan_is_refused_with_line_numbers(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# Bad\n\n## One\nNeeds: Two\n\n## One\nCheck:\n", MAKES_FILE)
    said = assert_refused(here, 2)
    for line in (4, 6, 7):
        assert f"PLAN.md:{line}: " in said, said
    (here.folder / "PLAN.md").write_text("# Bad\n\n## One\nNeeds: Elsewhere\n\n## Two\nNeeds: Two\n")
    here.git("commit", "-q", "-a", "-m", "worse")
    said = assert_refused(here, 2)
    for line in (4, 6):
        assert f"PLAN.md:{line}: " in said, said


def test_an_agent_that_is_not_there_is_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    (here.agent_folder / "claude").unlink()
    assert str(here.agent_folder / "claude") in assert_refused(here, 5)


def test_an_agent_that_is_not_logged_in_ends_the_run_and_resume_tries_again(tmp_path: Path) -> None:
    agent = """
    if number == 1:
        words = [{"type": "text", "text": "Not logged in"}]
        show(type="assistant", error="authentication_failed", parent_tool_use_id=None,
             message={"id": "m", "role": "assistant", "model": "<synthetic>", "content": words})
        end("success", True, "Not logged in")
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    document = run_plan(here, 5)
    assert document["tasks"][0]["tries"] == 0
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}
    assert_replays(here)


def test_a_dry_run_shows_the_prompt_and_the_command_and_writes_nothing(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# Two\n\n## Two\nNeeds: One\n\n## One\nCheck: `test -f one`\n", MAKES_FILE)
    before = sorted(str(path) for path in here.folder.rglob("*"))
    done, document = here.bridle("run", "PLAN.md", "--dry-run"), run_plan(here, 0, "--dry-run")
    assert done.returncode == 0
    assert done.stdout.startswith(document["prompt"])
    assert "**One**" in document["prompt"].split("## Task")[1]
    command = shlex.split(done.stdout.splitlines()[-1])
    assert command == document["command"]
    assert command[:2] == [str(here.agent_folder / "claude"), "-p"]
    assert document["task"] == "One", "Two needs it"
    assert sorted(str(path) for path in here.folder.rglob("*")) == before
    assert here.calls() == []


def test_a_dry_run_needs_no_agent(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    done = here.bridle("run", "PLAN.md", "--dry-run", BRIDLE_CLAUDE="/nowhere/claude")
    assert done.returncode == 0
    assert "/nowhere/claude" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("claude -p ")


def test_a_hint_that_no_iteration_would_read_is_refused(tmp_path: Path) -> None:
    waits = "while not os.path.exists(calls + '-go'): time.sleep(0.05)"
    here = make_project(tmp_path, ONE_TASK, f"{MAKES_FILE}\n{waits}")
    with subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md"], cwd=here.folder, env=here.environment(), stderr=subprocess.PIPE, text=True
    ) as run:
        wait_until(here.calls)
        assert here.bridle("hint", "Too late.").returncode == 0
        (here.agent_folder / "calls-go").touch()
        _, printed = run.communicate(timeout=LIMIT_SECONDS)
    assert run.returncode == 0
    assert "no iteration has read your hint, write it into the plan of the next run: Too late." in printed
    done = here.bridle("hint", "Mind the gap.")
    assert done.returncode == 2
    assert "no iteration would read the hint" in done.stderr
    failing = make_project(tmp_path / "failing", ONE_TASK, DOES_NOTHING)
    run_plan(failing, 1, "--tries", "1")
    done = failing.bridle("hint", "Mind the gap.")
    assert "bridle retry TASK" in done.stderr
    failing.bridle("retry", "One", "--resume")
    assert "Mind the gap." in failing.calls()[-1]["prompt"]


def test_a_hint_reaches_the_next_prompt_and_no_later_one(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS + "\n## Three\nCheck: `test -f three`\n", MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    assert here.bridle("hint", "Mind the gap.").returncode == 0
    receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0)
    assert ["Mind the gap." in call["prompt"] for call in here.calls()] == [False, True, False]
    assert_replays(here)


def test_a_task_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "if number > 2: open(task.lower(), 'w').close()")
    run_plan(here, 1, "--tries", "2")
    assert receipt_of(here.bridle("resume", "--json"), 1)["verdict"] == "failed"
    assert here.bridle("retry", "One").returncode == 0
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert here.bridle("retry", "One").returncode == 2
    assert_replays(here)


def test_untracked_files_of_the_user_are_neither_committed_nor_touched(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "if number == 1: sys.exit(0)\nopen('wrong', 'w').close()")
    (here.folder / "notes.txt").write_text("mine")
    (here.folder / "more").mkdir()
    (here.folder / "more/notes.txt").write_text("mine too")
    run_plan(here, 1, "--tries", "2")
    assert here.git("status", "--porcelain", "-uall").splitlines() == ["?? more/notes.txt", "?? notes.txt"]
    assert (here.folder / "notes.txt").read_text() == "mine"


def test_commits_of_an_agent_are_folded_into_the_tasks_own(tmp_path: Path) -> None:
    agent = """
    open(task.lower(), 'w').close()
    os.system("git add -A && git commit -q -m mine")
    """
    here = make_project(tmp_path, TWO_TASKS, agent)
    document = run_plan(here, 0)
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").split() == ["One", "Two"]
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"]
    assert_replays(here)


@pytest.mark.parametrize(
    "leaves",
    ["git checkout -q main", "git checkout -q --detach", "git checkout -q -b mine && git branch -q -D @{-1}"],
)
def test_an_agent_that_leaves_the_branch_is_brought_back(tmp_path: Path, leaves: str) -> None:
    here = make_project(tmp_path, TWO_TASKS, f"if number == 1: os.system({leaves!r})\n{MAKES_FILE}")
    start = here.git("rev-parse", "main")
    document = run_plan(here, 0)
    assert here.git("rev-parse", "main") == start
    assert here.git("branch", "--show-current") == document["branch"]
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"]
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").split() == ["One", "Two"]
    assert here.git("ls-tree", "--name-only", "HEAD").split() == ["PLAN.md", "one", "two"]
    assert_replays(here)


@pytest.mark.parametrize("leaves", ["git checkout -q main", "git checkout -q --detach main"])
def test_an_agent_that_looks_at_an_older_commit_has_not_deleted_what_came_after(tmp_path: Path, leaves: str) -> None:
    plan = "# T\n\nChecks: `true`\n\n## One\nMake it.\n\n## Two\nMake it.\n"
    here = make_project(tmp_path, plan, f"if task == 'Two': os.system({leaves!r})\n{MAKES_FILE}")
    document = run_plan(here, 0)
    assert here.git("branch", "--show-current") == document["branch"]
    assert here.git("log", "--reverse", "--name-status", "--format=", "main..").splitlines() == ["A\tone", "A\ttwo"]
    assert_replays(here)


def test_a_changed_byte_of_the_journal_is_found(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    document = run_plan(here, 0)
    entry = sorted((here.folder / ".a5c/runs" / document["run"] / "journal").iterdir())[3]
    entry.write_text(entry.read_text().replace("a", "b", 1))
    assert here.bridle("audit", "last").returncode == 1
