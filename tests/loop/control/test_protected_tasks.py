"""A task that names a protected file is warned about before the start; after it, reason and prompt name `May edit:`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import run_plan

FILES = {"check.sh": "test -f one\n", "tests/test_app.py": "", "README.md": "v1\n"}


def dry_run(folder: Path, body: str) -> str:
    here = make_project(folder, f"# T\n\n## One\n{body}\n", "", **FILES)
    done = here.bridle("run", "PLAN.md", "--dry-run")
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "Extend `tests/test_app.py`.\nCheck: `python3 -m pytest tests/test_app.py`",
        "Change the script.\n- [ ] tests/test_app.py covers it\nCheck: `python3 -m pytest tests/test_app.py`",
    ],
    ids=["in its text", "in its checklist"],
)
def test_a_task_that_names_a_protected_file_is_warned_about(tmp_path: Path, body: str) -> None:
    said = dry_run(tmp_path, body)
    assert "the task 'One' names tests/test_app.py, and its changes to that file would be undone" in said
    assert "May edit: tests/test_app.py" in said


@pytest.mark.parametrize(
    "body",
    [
        "Extend tests/test_app.py.\nCheck: `python3 -m pytest tests/test_app.py`\nMay edit: tests/test_app.py",
        "Extend tests/test_app.py.\nCheck: `python3 -m pytest tests/test_app.py`\nMay edit: tests/*",
        "Write v2 into README.md.\nCheck: `grep -q v2 README.md`",
        "Extend my_tests/test_app.py and tests/test_app.pyx.\nCheck: `python3 -m pytest tests/test_app.py`",
    ],
    ids=["May edit", "a pattern", "only read", "other names"],
)
def test_a_task_that_may_change_it_or_names_another_is_not(tmp_path: Path, body: str) -> None:
    assert "would be undone" not in dry_run(tmp_path, body)


def test_a_task_whose_check_runs_the_program_itself_is_warned_about(tmp_path: Path) -> None:
    body = "Make the app print bye.\nCheck: `python3 app.py | grep -q bye`"
    here = make_project(tmp_path, f"# T\n\n## One\n{body}\n", "", **{"app.py": "print('hi')\n"})
    said = here.bridle("run", "PLAN.md", "--dry-run").stderr
    assert "the task 'One' names app.py, and its changes to that file would be undone" in said
    assert "May edit: app.py" in said


def test_a_check_that_runs_a_test_is_as_it_should_be(tmp_path: Path) -> None:
    assert "would be undone" not in dry_run(tmp_path, "Fix it.\nCheck: `python3 -m pytest tests/test_app.py`")


def test_a_file_that_a_check_only_reads_can_be_the_work(tmp_path: Path) -> None:
    plan = "# T\n\n## One\nWrite v2 into README.md.\nCheck: `grep -q v2 README.md`\n"
    here = make_project(tmp_path, plan, "open('README.md', 'w').write('v2\\n')", **FILES)
    assert run_plan(here, 0)["tasks"][0]["verdict"] == "done"


def test_the_reason_and_the_next_prompt_name_what_would_allow_it(tmp_path: Path) -> None:
    plan = "# T\n\n## One\nCheck: `sh check.sh`\n"
    here = make_project(tmp_path, plan, "open('check.sh', 'w').write('true\\n')", **FILES)
    (task,) = run_plan(here, 1, "--tries", "2")["tasks"]
    assert "add the line `May edit: check.sh` to the task in the plan" in task["reason"]
    assert "Your change to check.sh was reverted" in here.calls()[1]["prompt"]
    assert "`May edit:`" in here.calls()[1]["prompt"].split("Notes on the last iteration")[1]
