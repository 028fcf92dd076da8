"""A check that passed and ran no test is reported by the line in which its runner says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.checks.no_tests import line_without_tests
from tests.loop.fixtures.repositories import make_repository

NONE = {
    "unittest": "\n----------\nRan 0 tests in 0.000s\n\nOK\n",
    "unittest 3.12": "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
    "pytest": "collected 0 items\n\n\x1b[33m====== no tests ran in 0.01s ======\x1b[0m\n",
    "pytest -q": "\nno tests ran in 0.00s\n",
    "pytest skipped": "collected 2 items\n\ntest_a.py ss   [100%]\n\n===== 2 skipped in 0.01s =====\n",
    "go": "?   \texample.com/x\t[no test files]\n?   \texample.com/x/y\t[no test files]\n",
    "go -run": "testing: warning: no tests to run\nPASS\nok  \texample.com/x\t0.002s [no tests to run]\n",
    "cargo": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    "jest": "> x@1.0.0 test\n> jest --passWithNoTests\n\nNo tests found, exiting with code 0\n",
    "vitest": "No test files found, exiting with code 0\n",
    "mocha": "\n\n  0 passing (1ms)\n",
    "node": "TAP version 13\n1..0\n# tests 0\n# pass 0\n# fail 0\n",
    "node spec": "ℹ tests 0\nℹ pass 0\n",
    "maven": "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
    "gradle": "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
    "phpunit": "No tests executed!\n",
    "rspec": "0 examples, 0 failures\n",
    "ctest": "No tests were found!!!\n",
    "make": "make: Nothing to be done for 'test'.\n",
    "make up to date": "make[1]: 'test' is up to date.\n",
}
SOME = {
    "unittest": "Ran 3 tests in 0.000s\n\nOK\n",
    "pytest": "===== 1 passed, 2 skipped in 0.01s =====\n",
    "pytest -q": ".s\n1 passed, 1 skipped in 0.01s\n",
    "pytest skipped first": "====== 2 skipped, 1 passed in 0.01s ======\n",
    "go": "?   \texample.com/x\t[no test files]\nok  \texample.com/x/y\t0.002s\n",
    "go cached": "ok  \texample.com/x/y\t(cached)\n?   \texample.com/x\t[no test files]\n",
    "cargo": "test result: ok. 4 passed; 0 failed\n\ntest result: ok. 0 passed; 0 failed\n",
    "jest": "Tests:       3 passed, 3 total\n",
    "vitest": " Test Files  1 passed (1)\n      Tests  2 passed (2)\n",
    "make": "make: Nothing to be done for 'build'.\n===== 3 passed in 0.01s =====\n",
    "linter": "All checks passed!\n",
    "nothing": "",
}


@pytest.mark.parametrize("name", NONE)
def test_a_runner_says_that_it_ran_none(name: str) -> None:
    assert line_without_tests(NONE[name])


@pytest.mark.parametrize("name", SOME)
def test_a_check_that_ran_some_or_is_no_test_is_not_reported(name: str) -> None:
    assert line_without_tests(SOME[name]) is None


def test_it_passes_and_is_reported(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a": "1\n"}, checks=("echo 'Ran 0 tests in 0.000s'",))
    here.start()
    result = here.check("echo 'Ran 0 tests in 0.000s'")
    what = "this check passed and ran no test: Ran 0 tests in 0.000s"
    assert result["passed"]
    assert result["reported"] == [{"path": "echo 'Ran 0 tests in 0.000s'", "what": what}]
    assert "reported" not in here.check("echo 'Ran 0 tests in 0.000s'", when="before")
    assert "reported" not in here.check("echo 'Ran 0 tests in 0.000s'; exit 1")
