"""What an agent does to branches, tags, settings and hooks is undone or told, and never becomes a part of the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.protection.git_files import git_metadata
from bridle.loop.protection.git_files.nested_repositories import make_linked_harmless
from bridle.loop.protection.git_files.restore_refs import restore_refs
from tests.fixtures import sandbox
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
    # In the sandbox git cannot change packed-refs, so some of these moves do nothing that needs a report.
    assert "restored" in reports(document).get("main", "restored" if sandbox.is_on() else "")
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
    (report,) = asyncio.run(restore_refs(repo, before, now, "main"))
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
    # In the sandbox git cannot delete a branch, since it cannot lock packed-refs.
    assert set(result) == {"refs/tags/mine", "new", "other", *(() if sandbox.is_on() else ("theirs",))}
    assert here.git("rev-parse", "theirs") == start
    assert start in result["other"]


@pytest.mark.without_sandbox("changes what the sandbox protects")
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


# The second worker starts once the first agent has changed the settings; the first agent waits for the second one, and
# the second one until the settings are restored after the first.
CHANGED = "grep -q /evil ../../../.git/config || [ $n -ge 6000 ]"
SECOND_STARTS_LATER = f"n=0; case $PWD in *-2) until {CHANGED}; do n=$((n+1)); sleep 0.01; done;; esac"
CHANGES_SETTINGS = """
def wait(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)

started = os.path.join(os.path.dirname(calls), "two-started")
if task == "One":
    os.system("git config core.hooksPath /evil")
    wait(lambda: os.path.exists(started))
else:
    open(started, "w").close()
    wait(lambda: "/evil" not in open("../../../.git/config").read())
"""


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_what_an_agent_changes_is_not_the_baseline_of_an_agent_that_starts_meanwhile(tmp_path: Path) -> None:
    plan = f"# P\n\nSetup: `{SECOND_STARTS_LATER}`\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
    here = make_project(tmp_path, plan, f"{CHANGES_SETTINGS}\n{MAKES_FILE}")
    config = here.folder / ".git/config"
    before = config.read_bytes()
    document = run_plan(here, 0, "--parallel", "2")
    assert config.read_bytes() == before
    assert "restored" in reports(document)[".git/config"]
    assert ".git/config" not in reports(document, 1)


def test_agents_at_work_at_the_same_time_share_files_and_refs(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "branch", "other")
    start = git(repo.folder, "rev-parse", "other").strip()
    config = (repo.folder / ".git/config").read_bytes()
    with git_metadata.agent_at_work(repo.folder) as one:
        git(repo.folder, "config", "core.hooksPath", "/evil")
        git(
            repo.folder,
            "update-ref",
            "refs/heads/other",
            git(repo.folder, "commit-tree", "-m", "x", "HEAD^{tree}").strip(),
        )
        git(repo.folder, "branch", "new")
        with git_metadata.agent_at_work(repo.folder) as two:
            for baseline, names in ((one, ["other", "new"]), (two, [])):
                now = git_metadata.read_metadata(repo.folder)
                git_metadata.restore_files(baseline.metadata, now)
                told = asyncio.run(restore_refs(repo, baseline.metadata, now, "other"))
                baseline.accept_refs(now, git_metadata.read_metadata(repo.folder))
                assert [report.path for report in told] == names
                assert git(repo.folder, "rev-parse", "other").strip() == start
                assert (repo.folder / ".git/config").read_bytes() == config
    with git_metadata.agent_at_work(repo.folder) as later:
        assert later.metadata == git_metadata.read_metadata(repo.folder)
        assert "refs/heads/new" in later.metadata.refs


def test_links_are_those_that_were_left_while_only_bridle_worked(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    place, elsewhere = repo.folder / ".git", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (place / "of-the-user").symlink_to(elsewhere)
    with git_metadata.agent_at_work(repo.folder, is_known=True) as first:  # nothing is known yet
        assert first.links == {"of-the-user": str(elsewhere)}
        (place / "refs/tags/link").symlink_to(elsewhere)
        (place / "of-the-user").unlink()
        assert [report.path for report in first.restore_links()] == [".git/of-the-user", ".git/refs/tags/link"]
    (place / "info/late").symlink_to(elsewhere)
    with git_metadata.agent_at_work(repo.folder, is_known=True) as known:
        assert known.links == {"of-the-user": str(elsewhere)}
        assert [report.path for report in known.restore_links()] == [".git/info/late"]
    (place / "info/of-the-user").symlink_to(elsewhere)
    with git_metadata.agent_at_work(repo.folder) as later:
        assert later.links == {"of-the-user": str(elsewhere), "info/of-the-user": str(elsewhere)}
        assert later.restore_links() == []


@pytest.mark.parametrize("missing", ["gitdir", "commondir", "HEAD"])
def test_a_worktree_that_was_being_made_is_left_to_its_maker(tmp_path: Path, missing: str) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    place = repo.folder / ".git/worktrees/w"
    (place / missing).rename(tmp_path / missing)
    before = git_metadata.read_metadata(repo.folder)
    (tmp_path / missing).rename(place / missing)
    (place / "config.worktree").write_text("[core]\n\tfsmonitor = ./program\n")
    now = git_metadata.read_metadata(repo.folder)
    assert git_metadata.restore_files(before, now) == []
    (report,) = asyncio.run(make_linked_harmless(repo, before, now))
    assert report.path == ".git/worktrees/w/config.worktree"
    assert not (place / "config.worktree").exists()
    git(tmp_path / "w", "status")
