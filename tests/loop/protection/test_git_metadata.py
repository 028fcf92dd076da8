"""What an agent does to branches, tags, settings and hooks is undone or told, and never becomes a part of the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.protection import git_metadata
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, assert_replays, run_plan
from tests.workspace.fixtures.repositories import git, make_repository


def reports(document: dict[str, object], number: int = 0) -> dict[str, str]:
    tasks = document["tasks"]
    assert isinstance(tasks, list)
    return {item["path"]: item["what"] for item in tasks[number].get("reported", ())}


def shell(command: str, *, when: int = 1) -> str:
    return f"if number == {when}: os.system({command!r})\n{MAKES_FILE}"


@pytest.mark.parametrize(
    "moves",
    [
        "git checkout -q main && git commit -q --allow-empty -m mine",
        "git branch -f main $(git commit-tree -m mine HEAD^{tree})",
        "git branch -q -D main",
        "git pack-refs --all && git update-ref refs/heads/main $(git commit-tree -m mine HEAD^{tree})",
    ],
)
def test_the_branch_that_the_run_started_from_is_restored(tmp_path: Path, moves: str) -> None:
    here = make_project(tmp_path, ONE_TASK, shell(moves))
    start = here.git("rev-parse", "main")
    document = run_plan(here, 0)
    assert here.git("rev-parse", "main") == start
    assert "restored" in reports(document)["main"]
    assert here.git("rev-list", "main..HEAD").split() == document["commits"]
    assert_replays(here)


@pytest.mark.parametrize("is_checked_out", [True, False])
def test_the_branch_that_the_run_started_from_is_only_reported_while_it_is_checked_out(
    tmp_path: Path, *, is_checked_out: bool
) -> None:
    repo = make_repository(tmp_path / "r")
    if not is_checked_out:
        git(repo.folder, "checkout", "-q", "-b", "other")
    before = git_metadata.read_metadata(repo.folder)
    moved = git(repo.folder, "commit-tree", "-m", "of the user", "HEAD^{tree}").strip()
    git(repo.folder, "update-ref", "refs/heads/main", moved)
    now = git_metadata.read_metadata(repo.folder)
    (report,) = asyncio.run(git_metadata.restore_refs(repo, before, now, "main"))
    assert ("restored" in report.what) is not is_checked_out
    assert (git(repo.folder, "rev-parse", "main").strip() == moved) is is_checked_out


def test_other_branches_and_tags_are_reported_and_deleted_ones_restored(tmp_path: Path) -> None:
    moves = (
        "git tag mine; git branch new; git branch -q -D theirs; git branch -f other $(git commit-tree -m x HEAD^{tree})"
    )
    here = make_project(tmp_path, ONE_TASK, shell(moves))
    for name in ("theirs", "other"):
        here.git("branch", name)
    start = here.git("rev-parse", "theirs")
    result = reports(run_plan(here, 0))
    assert set(result) == {"refs/tags/mine", "new", "theirs", "other"}
    assert here.git("rev-parse", "theirs") == start
    assert start in result["other"]


def test_settings_hooks_and_ignore_rules_of_git_are_restored(tmp_path: Path) -> None:
    moves = (
        "git config core.bare true; echo 'touch /tmp/never' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit;"
        " echo '*.hidden' >> .git/info/exclude; touch x.hidden; ln -s /bin/true .git/hooks/pre-push;"
        " echo changed > .git/hooks/pre-commit"
    )
    here = make_project(tmp_path, ONE_TASK, shell(moves))
    hook = here.folder / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    before = (here.folder / ".git/config").read_bytes()
    document = run_plan(here, 0)
    assert set(reports(document)) == {
        ".git/config",
        ".git/info/exclude",
        ".git/hooks/post-commit",
        ".git/hooks/pre-push",
        ".git/hooks/pre-commit",
    }
    assert (here.folder / ".git/config").read_bytes() == before
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"
    assert hook.stat().st_mode & 0o777 == 0o755
    assert not (here.folder / ".git/hooks/post-commit").exists()
    assert not (here.folder / ".git/hooks/pre-push").is_symlink()
    # What a rule would have hidden is in the commit.
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["one", "x.hidden"]


@pytest.mark.parametrize("moves", ["git reset -q --hard main", "git commit -q --amend -m mine"])
def test_the_commit_of_an_earlier_task_stays(tmp_path: Path, moves: str) -> None:
    plan = "# Two\n\nChecks: `true`\n\n## One\nMake one.\n\n## Two\nMake two.\n"
    here = make_project(tmp_path, plan, shell(moves, when=2))
    document = run_plan(here, 0)
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"]
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").split() == ["One", "Two"]
    assert_replays(here)


def test_without_changes_nothing_is_reported(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    assert reports(run_plan(here, 0)) == {}
    assert git_metadata.read_metadata(here.folder) == git_metadata.read_metadata(here.folder)


def test_a_folder_outside_a_repository_has_no_metadata(tmp_path: Path) -> None:
    assert git_metadata.read_metadata(tmp_path) == git_metadata.GitMetadata(None, {}, {})
