"""`bridle demo`, as a person starts it: real edits, real checks, real commits, and only the model's words scripted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.commands.repository.demo import _next_steps
from bridle.cli.demo.demo_folder import DemoFolder
from bridle.cli.demo.demo_script import UNEXPECTED, script
from bridle.cli.demo.sample import FILES
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.fixtures.bridle_program import BRIDLE, BRIDLE_AGENT, run_bridle

# It takes ten seconds on a quiet machine, and must be over in a minute; this is for one that is very busy.
LIMIT_SECONDS = 240.0
pytestmark = pytest.mark.xdist_group("demo")  # one demo for all of them
TITLES = ["Prices as people write them", "Count what is in the basket", "Rebates", "Print the slip"]


def bridle(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_bridle(*arguments, cwd=cwd, limit_seconds=LIMIT_SECONDS, variables=environment)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_a_next_step_that_needs_an_extra_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [step] = [line for line in _next_steps(DemoFolder(tmp_path)) if "bridle watch" in line]
    assert "pip install" not in step
    monkeypatch.setitem(sys.modules, "starlette", None)  # as if the package were not installed
    [step] = [line for line in _next_steps(DemoFolder(tmp_path)) if "bridle watch" in line]
    assert step.endswith(" (pip install 'bridle-cli[web]')")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One demo for all that is to be seen of it; settings and accounts of the person must not reach it."""
    folder = tmp_path_factory.mktemp("demo") / "here"
    foreign = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "sk-of-the-person-000000",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "GIT_AUTHOR_NAME": "Somebody Else",
        "BRIDLE_BRIDLE_AGENT": "/bin/false",
        "BABYSITTER_RUNS_DIR": "/nonexistent/runs",
    }
    return folder / "till", bridle("demo", "--folder", str(folder), "--json", cwd=folder.parent, **foreign)


def test_the_demo_ends_well_with_a_receipt_of_four_verified_tasks(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = demo
    assert done.returncode == 0, done.stderr
    receipt: dict[str, Any] = json.loads(done.stdout)
    assert [task["title"] for task in receipt["tasks"]] == TITLES
    assert {task["verdict"] for task in receipt["tasks"]} == {"done"}
    assert receipt["verdict"] == "done"
    assert all(check["exit_code"] == 0 for task in receipt["tasks"] for check in task["checks"])


def test_one_task_fails_its_check_first_and_is_corrected_by_the_next_iteration(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = demo
    tries = {task["title"]: (task["iterations"], task["tries"]) for task in json.loads(done.stdout)["tasks"]}
    assert tries == {title: (2, 1) if title == "Rebates" else (1, 0) for title in TITLES}
    said = done.stderr.index("it is simple enough to be right")
    failed = done.stderr.index("check failed (1): python3 -m unittest tests/test_rebate.py")
    passed = done.stderr.index("check passed: python3 -m unittest tests/test_rebate.py")
    assert said < failed < passed


def test_each_task_is_one_commit_with_its_trailers_and_the_branch_it_came_from_has_not_moved(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    repository, done = demo
    receipt = json.loads(done.stdout)
    assert git(repository, "log", "--reverse", "--format=%s", "main..HEAD").splitlines() == TITLES
    assert git(repository, "rev-list", "--count", "main").strip() == "1"
    assert git(repository, "branch", "--show-current").strip() == receipt["branch"]
    assert git(repository, "log", "-1", "--format=%(trailers:key=Bridle-Checks,valueonly)").strip() == "5 passed"
    assert git(repository, "status", "--porcelain") == ""


def test_the_suite_that_failed_before_passes_after(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    repository, _ = demo
    after = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=repository, capture_output=True, text=True, timeout=60, check=False
    )
    assert after.returncode == 0, after.stderr
    assert "Ran 13 tests" in after.stderr
    git(repository, "checkout", "--quiet", "--detach", "main")
    before = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=repository, capture_output=True, text=True, timeout=60, check=False
    )
    git(repository, "checkout", "--quiet", "-")
    assert before.returncode == 1, before.stderr
    assert "FAILED" in before.stderr


def test_it_says_plainly_what_is_scripted_and_where_to_look(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    repository, done = demo
    assert "The model's answers are scripted" in done.stderr
    assert f"  cd {repository}\n" in done.stderr
    assert "auth:" not in done.stderr
    for command in ("git log --stat", "bridle status", "bridle show", "bridle replay", "bridle audit", "bridle init"):
        assert command in done.stderr


def test_what_it_tells_a_user_to_try_works(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    repository, _ = demo
    for command in ("show", "replay", "audit"):
        done = bridle(command, cwd=repository)
        assert done.returncode == 0, f"bridle {command}: {done.stderr}"


def test_no_key_and_no_proxy_of_the_user_reached_the_agent(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    repository, done = demo
    kept = [path for path in repository.parent.rglob("*") if path.is_file() and ".git" not in path.parts]
    assert len(kept) > len(FILES)
    assert not [path for path in kept if b"sk-of-the-person" in path.read_bytes()]
    assert git(repository, "log", "-1", "--format=%an").strip() != "Somebody Else"
    assert "sk-of-the-person" not in done.stdout + done.stderr


def test_a_folder_with_something_in_it_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = bridle("demo", "--folder", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = bridle("demo", "--folder", str(tmp_path / "mine.txt" / "below"), cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_script_refuses_a_repository_that_is_not_the_sample(tmp_path: Path) -> None:
    """The same agent and the same script; but somebody has changed the line that the script edits."""
    for name, text in FILES.items():
        path = tmp_path / "till" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("int(rest or 0)", "int(rest or '0')"))
    with running(load_script(script(tmp_path / "till"))) as stage:
        done = subprocess.run(
            [
                str(BRIDLE_AGENT),
                *("-p", "--output-format", "json", "--tools=Read,Edit,Bash", "--allowedTools=Read,Edit,Bash"),
                "## Task\n\n**Prices as people write them**",
            ],
            cwd=tmp_path / "till",
            env=os.environ | {"ANTHROPIC_BASE_URL": stage.url, "ANTHROPIC_API_KEY": "dummy"},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        answers = [request.answer for request in stage.requests]
    assert answers[-1] == "conversations[0].otherwise"
    assert done.returncode == 1
    assert UNEXPECTED.format("in the task 'Prices as people write them'")[:60] in done.stdout


def test_a_request_that_is_none_of_the_demo_is_refused() -> None:
    document = script(Path("/nowhere"))
    assert document["otherwise"]["kind"] == "error"
    assert all(one["otherwise"]["kind"] == "error" for one in document["conversations"])


def broken_off(folder: Path, mark: str, *flags: str) -> tuple[int, str, str]:
    """Start a demo, and press Ctrl-C as soon as this line is seen; gives exit code, stdout and stderr."""
    child = subprocess.Popen(
        [str(BRIDLE), "demo", "--folder", str(folder), *flags],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    seen = ""
    while mark not in seen:
        line = child.stderr.readline()
        assert line, seen
        seen += line
    child.send_signal(signal.SIGINT)
    out, rest = child.communicate(timeout=LIMIT_SECONDS)
    return child.returncode, out, seen + rest


def test_a_demo_that_is_not_kept_leaves_nothing_behind(tmp_path: Path) -> None:
    """Interrupted at its first iteration, so that it is short; the folder goes all the same."""
    folder = tmp_path / "gone"
    code, out, err = broken_off(folder, "iteration 1", "--no-keep")
    assert code == 130
    assert "continues the run" not in err
    assert f"resume     {BRIDLE} demo\n" in out
    assert not folder.exists()


def test_a_demo_that_is_broken_off_again_and_again_goes_on_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    way = f"{BRIDLE} demo --folder '{folder}'"
    for mark in (
        "The sample repository is",
        "> Edit till/prices.py",
        "> Edit till/basket.py",
        "> Write till/rebate.py",
        "> Write till/slip.py",
    ):
        code, out, err = broken_off(folder, mark)
        assert code == 130, err
        assert f"resume     {way}\n" in out or mark == "The sample repository is", "then there is no run yet"
    assert f"Continuing the demo in {folder / 'till'}\n" in err
    done = bridle("demo", "--folder", str(folder), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)
    assert [task["verdict"] for task in receipt["tasks"]] == ["done"] * 4
    assert [task["tries"] for task in receipt["tasks"]] == [0, 0, 1, 0]
    assert git(folder / "till", "log", "--reverse", "--format=%s", "main..HEAD").splitlines() == TITLES
    again = bridle("demo", "--folder", str(folder), cwd=tmp_path)
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_where_bridle_is_not_on_the_path_it_says_how_to_reach_it(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = demo
    assert f'  export PATH={BRIDLE.parent}:"$PATH"\n' in done.stderr
