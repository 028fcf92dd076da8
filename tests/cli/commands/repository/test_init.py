"""`bridle init` as a person and as a program call it: what it finds, writes and leaves alone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.loop.plan.read_plan import read_plan
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.settings.toml_schema import settings_schema
from tests.fixtures.bridle_program import run_bridle

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=LIMIT_SECONDS)
    (folder / "Makefile").write_text("test:\n\ttrue\nsetup:\n\ttrue\n")
    return folder


def init(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    return run_bridle("init", *arguments, cwd=folder, variables={} if path is None else {"PATH": path})


def document(folder: Path, *arguments: str) -> dict[str, Any]:
    done = init(folder, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_what_was_found_is_shown_and_both_files_are_written(repository: Path) -> None:
    done = init(repository)
    assert (done.returncode, done.stdout) == (0, "")
    assert "check       make test  (Makefile has a target `test`)" in done.stderr
    assert f"wrote       {repository}/bridle.toml" in done.stderr
    assert "bridle run PLAN.md" in done.stderr
    settings = load_settings(repository, repository / "nobody")
    assert (settings.checks, settings.setup) == (("make test",), ("make setup",))
    plan = read_plan("PLAN.md", repository, settings)
    assert plan.guard == ("make test",)
    assert [task.title for task in plan.tasks] == ["Describe this repository for agents"]
    assert plan.tasks[0].checks == ("test -s AGENTS.md",)
    assert plan.title == "shop: first plan"
    assert plan.warnings == ()


def test_every_line_of_the_settings_that_is_commented_out_is_a_setting_with_its_default(repository: Path) -> None:
    init(repository)
    path = repository / "bridle.toml"
    before = load_settings(repository, repository / "nobody")
    shown, count = re.subn(r"^# (?=\w+ = )", "", path.read_text(), flags=re.MULTILINE)
    assert count >= 10
    path.write_text(shown)
    after = load_settings(repository, repository / "nobody")
    assert len(after.chosen) == len(before.chosen) + count
    assert after.as_json() | {"chosen": []} == before.as_json() | {"chosen": []}


def test_programs_get_one_document(repository: Path) -> None:
    assert document(repository) == {
        "repository": str(repository),
        "checks": [{"command": "make test", "reason": "Makefile has a target `test`", "is_here": True}],
        "others": [],
        "setup": [{"command": "make setup", "reason": "Makefile has a target `setup`", "is_here": True}],
        "written": [str(repository / name) for name in ("bridle.toml", "PLAN.md", "bridle.schema.json")],
        "kept": [],
        "next": "bridle run PLAN.md",
    }


def test_a_given_command_is_taken_and_what_was_found_is_reported_beside_it(repository: Path) -> None:
    value = document(repository, "--check", 'sh -c "exit 0"', "--check", "make `lint`")
    assert [one["command"] for one in value["checks"]] == ['sh -c "exit 0"', "make `lint`"]
    assert [one["command"] for one in value["others"]] == ["make test"]
    settings = load_settings(repository, repository / "nobody")
    assert settings.checks == ('sh -c "exit 0"', "make `lint`")
    assert read_plan("PLAN.md", repository, settings).guard == settings.checks


@pytest.mark.parametrize("wrong", ["", " ", "a\nb", "a\x1b"])
def test_a_given_command_that_is_invalid_is_refused(repository: Path, wrong: str) -> None:
    done = init(repository, "--check", wrong)
    assert done.returncode == 2
    assert "--check must be a command" in done.stderr
    assert not (repository / "bridle.toml").exists()


def test_files_that_are_there_stay_and_are_named(repository: Path) -> None:
    (repository / "PLAN.md").write_text("mine")
    value = document(repository)
    assert value["kept"] == [str(repository / "PLAN.md")]
    assert value["written"] == [str(repository / "bridle.toml"), str(repository / "bridle.schema.json")]
    assert (repository / "PLAN.md").read_text() == "mine"
    (repository / "PLAN.md").unlink()
    (repository / "bridle.toml").write_text('checks = ["make all"]\n')
    done = init(repository)
    assert "kept        " in done.stderr
    assert (repository / "bridle.toml").read_text() == 'checks = ["make all"]\n'
    assert "Checks: `make all`" in (repository / "PLAN.md").read_text()


def test_the_first_line_of_the_settings_names_their_schema(repository: Path) -> None:
    init(repository)
    assert (repository / "bridle.toml").read_text().startswith("#:schema ./bridle.schema.json\n# Settings")
    assert json.loads((repository / "bridle.schema.json").read_text()) == settings_schema()


def test_a_file_of_the_user_with_the_schemas_name_stays(repository: Path) -> None:
    (repository / "bridle.schema.json").write_text("{}")
    init(repository)
    assert (repository / "bridle.schema.json").read_text() == "{}"
    assert "#:schema" not in (repository / "bridle.toml").read_text()


def test_where_both_are_there_nothing_is_written(repository: Path) -> None:
    init(repository)
    (repository / "PLAN.md").write_text("mine")
    done = init(repository)
    assert done.returncode == 2
    assert "bridle.toml and PLAN.md exist in" in done.stderr
    assert (repository / "PLAN.md").read_text() == "mine"
    assert json.loads(init(repository, "--json").stderr)["error"] == "USAGE"


def test_a_given_command_is_not_dropped_where_the_settings_are_there(repository: Path) -> None:
    (repository / "bridle.toml").write_text("")
    done = init(repository, "--check", "x")
    assert done.returncode == 2
    assert not (repository / "PLAN.md").exists()


def test_a_dangling_link_is_not_written_through(repository: Path) -> None:
    (repository / "PLAN.md").symlink_to(repository.parent / "elsewhere")
    assert document(repository)["kept"] == [str(repository / "PLAN.md")]
    assert not (repository.parent / "elsewhere").exists()


def test_a_broken_settings_file_is_refused_before_a_plan_is_written(repository: Path) -> None:
    (repository / "bridle.toml").write_text("cheks = 1\n")
    done = init(repository)
    assert done.returncode == 2
    assert "bridle.toml:1: cheks is not a setting; did you mean checks?" in done.stderr
    assert not (repository / "PLAN.md").exists()


def test_a_folder_below_the_top_serves_the_whole_repository(repository: Path) -> None:
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    assert document(deep)["repository"] == str(repository)
    assert (repository / "bridle.toml").exists()


def test_where_the_top_says_nothing_the_folder_is_looked_at(repository: Path) -> None:
    (repository / "Makefile").unlink()
    deep = repository / "api server"
    deep.mkdir()
    (deep / "Makefile").write_text("test:\n\ttrue\n")
    (found,) = document(deep)["checks"]
    assert found["command"] == "cd 'api server' && make test"
    assert load_settings(repository, repository / "nobody").checks == ("cd 'api server' && make test",)


def test_where_nothing_is_found_that_is_reported_plainly(repository: Path) -> None:
    (repository / "Makefile").unlink()
    done = init(repository)
    assert done.returncode == 0
    assert "none found: without a check, tasks end as unverified" in done.stderr
    assert load_settings(repository, repository / "nobody").checks == ()
    assert "No test command was found for this repository" in (repository / "PLAN.md").read_text()
    assert read_plan("PLAN.md", repository, load_settings(repository, repository / "nobody")).guard == ()


def test_a_repository_that_is_described_already_gets_another_first_task(repository: Path) -> None:
    (repository / "AGENTS.md").write_text("hello")
    init(repository)
    assert "## Correct the README" in (repository / "PLAN.md").read_text()


def test_outside_of_git_the_files_are_written_and_the_lack_is_reported(tmp_path: Path) -> None:
    done = init(tmp_path)
    assert done.returncode == 0
    assert "`git init` before the first run" in done.stderr
    assert (tmp_path / "bridle.toml").exists()


def test_the_agent_that_is_installed_is_the_one_in_the_file(repository: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").write_text("#!/bin/sh\n")
    (programs / "codex").chmod(0o755)
    done = init(repository, path=str(programs))
    assert done.returncode == 0
    assert load_settings(repository, repository / "nobody").agents == ("codex",)


def test_a_folder_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "PLAN.md").mkdir()
    (tmp_path / "bridle.toml").symlink_to(tmp_path / "no" / "such")
    done = init(tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["PRD.md", "prd.json", "tasks.yaml"])
def test_a_task_list_of_another_tool_is_the_plan(repository: Path, name: str) -> None:
    (repository / name).write_text("- [ ] one\n")
    done = init(repository)
    assert done.returncode == 0, done.stderr
    assert not (repository / "PLAN.md").exists(), "`bridle run` would run it instead"
    assert f"kept        {repository}/{name} (it exists)" in done.stderr
    assert f"then: bridle run {name}" in done.stderr
