"""What real shells, make, npm and Python say about a check that cannot start; and about one that only fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import OF_GUARD, OF_TASK, Check
from bridle.loop.process.baseline_faults import describe_faults, failed_setup, find_fault


def run(folder: Path, command: str, owner: str = OF_TASK) -> CheckResult:
    """Run a command as a check is run."""
    (folder / "Makefile").write_text("test:\n\ttrue\nbroken:\n\tpytset -q\n")
    (folder / "plain.sh").write_text("true\n")
    (folder / "package.json").write_text(json.dumps({"scripts": {"test": "true"}}))
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec 2>&1; {command}"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return CheckResult(command=command, owner=owner, exit_code=done.returncode, output=done.stdout)


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("pytset -q", "'pytset' is not on PATH (exit code 127)"),
        ("true && pytset -q", "'pytset' is not on PATH (exit code 127)"),
        ("bash -c 'pytset -q'", "'pytset' is not on PATH (exit code 127)"),
        ("env pytset -q", "'pytset' is not on PATH (exit code 127)"),
        ("timeout 3 pytset -q", "'pytset' is not on PATH (exit code 127)"),
        ("nice pytset -q", "'pytset' is not on PATH (exit code 127)"),
        ("make broken", "'pytset', which make starts, is not on PATH"),
        ("python3 -S -I -m pytest -q", "the Python that runs it has no module 'pytest'"),
        ("python3 -m unitest -q", "the Python that runs it has no module 'unitest'"),
        ("npm tset --silent", "'npm' has no command 'tset'"),
        ("echo 'error: no such command: `tset`'; exit 101", "'echo' has no command 'tset'"),
        ("echo 'go tset: unknown command'; exit 2", "'echo' has no command 'tset'"),
    ],
)
def test_a_program_that_is_not_there(tmp_path: Path, command: str, fault: str) -> None:
    assert find_fault(run(tmp_path, command)) == fault


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    fault = find_fault(run(tmp_path, "./plain.sh"))
    assert fault is not None
    assert "Permission denied (exit code 126)" in fault


@pytest.mark.parametrize("command", ["make tset", "npm run tset"])
def test_a_target_or_script_that_is_not_defined_is_a_fault_of_the_guard_only(tmp_path: Path, command: str) -> None:
    """A task may be there to make it."""
    assert find_fault(run(tmp_path, command, OF_GUARD)) == "there is no target or script 'tset'"
    assert find_fault(run(tmp_path, command)) is None


@pytest.mark.parametrize(
    "command",
    [
        "./new.sh",
        "sh new.sh",
        "bash new.sh",
        "sh -n new.sh",
        "cd new && make",
        "make -C new",
        "npm --prefix new test",
        "node --test new",
        "node new.js",
        f"{sys.executable} -m pytest -q new.py",
        f"{sys.executable} -m pytest -q --new-option",
        "sh tests/new.sh",
        "bash tests/new.sh",
        "python3 new.py",
        "python3 -m my_new_module",
        "python3 -c 'import my_new_module'",
        "test -f one",
        "exit 127",
        "echo pytset: not found; exit 1",
        "true",
    ],
)
def test_what_a_task_may_make_and_what_only_fails_are_no_faults(tmp_path: Path, command: str) -> None:
    assert find_fault(run(tmp_path, command)) is None


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true &&", "yntax error"),
        ("if true", "yntax error"),
        ("echo 'open", "nterminated quoted string"),
        ("bash -c 'true &&'", "syntax error"),
    ],
)
def test_a_line_that_the_shell_cannot_read(tmp_path: Path, command: str, said: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    fault = find_fault(CheckResult(command=command, owner=OF_TASK, exit_code=done.returncode, output=done.stderr))
    assert fault is not None
    assert fault.startswith("the shell cannot read it: ")
    assert said.casefold() in fault.casefold()


def test_a_script_that_the_shell_cannot_read_is_work_for_an_agent(tmp_path: Path) -> None:
    (tmp_path / "open.sh").write_text("if true\n")
    assert find_fault(run(tmp_path, "sh open.sh", OF_GUARD)) is None
    (tmp_path / "GNUmakefile").write_text("broken:\n\tif true\n")
    assert find_fault(run(tmp_path, "make broken", OF_GUARD)) is None


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (f"{sys.executable} -m pytest -q tests/new.py", "tests/new.py"),
        ("python3 new.py", "new.py"),
        ("node --test new", "new"),
        ("node new.js", "new.js"),
        ("sh new.sh", "new.sh"),
        ("bash new.sh", "new.sh"),
        ("./new.sh", "./new.sh"),
        ("cd new && make", "new"),
        ("bash -c 'cd new && make'", "new"),
        ("make -C new test", "new"),
        ("make tset", "tset"),
    ],
)
def test_what_the_guard_names_and_is_not_there_is_a_fault_unless_a_task_names_it(
    tmp_path: Path, command: str, missing: str
) -> None:
    result = run(tmp_path, command, OF_GUARD)
    fault = find_fault(result, "Fix the tests.")
    assert fault is not None
    assert fault.startswith("there is no ")
    assert fault.rstrip("'").endswith(missing.removeprefix("./"))
    assert find_fault(result, f"Write `{missing}`, which tests it.") is None
    assert find_fault(result, None) is None or "target" in fault, "runs of earlier versions decide as they did"


def test_npm_and_make_without_their_file(tmp_path: Path) -> None:
    results = []
    for command in ("npm test", "make"):
        done = subprocess.run(
            command.split(), cwd=tmp_path, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, check=False
        )
        results.append(CheckResult(command=command, owner=OF_GUARD, exit_code=done.returncode, output=done.stdout))
    assert [find_fault(result, "Fix it.") for result in results] == ["there is no package.json", "there is no Makefile"]
    assert [find_fault(result, "Write package.json and a Makefile.") for result in results] == [None, None]


def test_an_option_that_the_runner_does_not_have(tmp_path: Path) -> None:
    result = run(tmp_path, f"{sys.executable} -m pytest -q --new-option", OF_GUARD)
    assert find_fault(result) == "unrecognized arguments: --new-option"


def test_a_missing_file_inside_of_what_the_guard_runs_is_work_for_an_agent(tmp_path: Path) -> None:
    (tmp_path / "check.sh").write_text("cd build\n")
    assert find_fault(run(tmp_path, "sh check.sh", OF_GUARD)) is None


def test_the_reason_names_each_check_and_what_to_do(tmp_path: Path) -> None:
    results = [run(tmp_path, "pytset"), run(tmp_path, "true"), run(tmp_path, "rufff .")]
    assert describe_faults(results) == (
        "the check `pytset` cannot start: 'pytset' is not on PATH (exit code 127); the check `rufff .` cannot start:"
        " 'rufff' is not on PATH (exit code 127). Nothing was spent. Correct the plan and run `bridle resume --replan`,"
        " or install what is missing and run `bridle resume`"
    )
    assert describe_faults(results[1:2]) == ""


def test_a_setup_that_failed_is_not_one_of_the_checks() -> None:
    setup, check = CheckResult(command="npm ci", exit_code=1), CheckResult(command="npm test", exit_code=1)
    checks = (Check(command="npm test", owner=OF_GUARD),)
    assert failed_setup([setup], checks) == setup
    assert failed_setup([check], checks) is None
