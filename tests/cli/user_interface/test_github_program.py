"""`gh`, and the fake of it that the tests use."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from bridle.cli.user_interface.github_program import GitHub
from bridle.errors import MachineError, UsageError
from tests.cli.fixtures.fake_gh import FakeGitHub

ISSUE = {"number": 12, "title": "A", "body": "B", "url": "https://github.com/o/r/issues/12"}


def test_the_fake_answers_as_the_program_does(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path / "bin", issues=[ISSUE])

    def gh(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(fake.folder / "gh"), *arguments], input="body", capture_output=True, text=True, check=False
        )

    assert json.loads(gh("issue", "view", "12", "--json", "number").stdout) == ISSUE
    assert json.loads(gh("issue", "view", ISSUE["url"]).stdout) == ISSUE  # type: ignore[arg-type]  # it is a text
    assert json.loads(gh("issue", "list").stdout) == [ISSUE]
    assert gh("pr", "create", "--body-file", "-").stdout.startswith("https://")
    assert fake.calls[-1]["stdin"] == "body"
    missing = gh("issue", "view", "13")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "Could not resolve" in missing.stderr
    assert gh("repo", "delete").returncode == 1


def test_a_failure_is_reported_in_its_own_words_without_secrets(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path / "bin", failure="HTTP 401 for token ghp_0123456789abcdef")
    variables = {**os.environ, "PATH": f"{fake.folder}:{os.environ['PATH']}", "GH_TOKEN": "ghp_0123456789abcdef"}
    folder = tmp_path / "work"
    folder.mkdir()
    with pytest.raises(MachineError, match="HTTP 401") as caught:
        asyncio.run(GitHub.find(folder, variables).run("issue", "list"))
    assert "ghp_0123456789abcdef" not in caught.value.message


def test_what_is_not_json_is_reported(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path / "bin", raw="<html>")
    folder = tmp_path / "work"
    folder.mkdir()
    with pytest.raises(MachineError, match="did not print JSON"):
        asyncio.run(GitHub.find(folder, {"PATH": f"{fake.folder}:/usr/bin:/bin"}).json("issue", "list"))


def test_a_program_that_an_agent_can_replace_is_not_started(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    fake = FakeGitHub(tmp_path / "bin", issues=[])
    with pytest.raises(UsageError, match="gh is not installed"):
        GitHub.find(tmp_path, {"PATH": str(fake.folder)})
