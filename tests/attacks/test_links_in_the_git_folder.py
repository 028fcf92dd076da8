"""Attack: an agent puts symbolic links into `.git`, for git and Bridle to read and write the user's files through them.

`.git/refs/tags` leads to the home, whose files would be damaged refs; `.git/refs/replace` to the keys, which would be
refs that are reported; `.git/logs/HEAD` to `.bashrc`, to which git would append; `hooks` of a new repository to a
folder of documents, which would be hooks that were added. Every new link is removed before Bridle or its git looks at
the folder, and no function of Bridle follows one there.

With the sandbox: the same; refs, logs and objects of git are writable in it.
Without: the links are removed, and nothing is read or written through them.
Reported: in the receipt, by name and without what they lead to.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import git_metadata, nested_repositories
from bridle.loop.protection.git_files.restore_refs import restore_refs
from bridle.loop.working_copy import stale_git_locks
from bridle.workspace.git import Git
from bridle.workspace.git_folder import damaged_files, git_links
from bridle.workspace.repair import git_leftovers
from tests.attacks.fixtures.sandboxed import SECRET, Target, git, make_target

SCRIPT = """
rm -rf .git/refs/tags; ln -s ~ .git/refs/tags
rm -rf .git/refs/replace; ln -s ~/.ssh .git/refs/replace
rm -f .git/logs/HEAD; ln -s ~/.bashrc .git/logs/HEAD
for i in 0 1 2; do [ -e .git/objects/${i}f ] || ln -s ~/documents .git/objects/${i}f; done
mkdir nested && git init -q nested && rm -rf nested/.git/hooks && ln -s ~/documents nested/.git/hooks
chmod 300 .git/refs
"""


def make(tmp_path: Path) -> Target:
    target = make_target(tmp_path)
    (target.home / ".bashrc").write_text("alias ll='ls -l'\n")
    (target.home / "documents/thesis").mkdir(parents=True)
    (target.home / "documents/thesis/text.tex").write_text("ten years of work\n")
    (target.home / "documents/stale.lock").write_text("")
    return target


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".bridle" not in path.parts
    }


async def restore(work: Path, baseline: git_metadata.Baseline, state: git_leftovers.GitState) -> list[FileReport]:
    """Do what Bridle does after an agent, in its order."""
    reports = baseline.restore_links()
    now = git_metadata.read_metadata(work, place=baseline.metadata.folder)
    reports += git_metadata.restore_files(baseline.metadata, now)
    reports += await nested_repositories.restore(Git(work), now.folder, nested_repositories.Repositories())
    await git_leftovers.undo(Git(work), state)
    reports += await restore_refs(Git(work), baseline.metadata, now, None)
    return [*reports, *git_metadata.restore_logs(baseline.metadata, now)]


def test_nothing_is_read_or_written_through_them(tmp_path: Path) -> None:
    target = make(tmp_path)
    git(target.work, "tag", "of-the-user")
    before = files_of(target.home)
    with git_metadata.agent_at_work(target.work) as baseline:
        state = git_leftovers.read_state(target.work)
        assert target.works(SCRIPT)
        reports = asyncio.run(restore(target.work, baseline, state))
    named = {report.path for report in reports}
    assert {
        ".git/refs/tags",
        ".git/refs/replace",
        ".git/logs/HEAD",
        "nested/.git/hooks",
        "refs/tags/of-the-user",
    } <= named
    assert SECRET not in str(reports)
    assert git_links.read(target.work / ".git") == git_links.read(target.work / "nested/.git") == {}
    git(target.work, "commit", "-q", "--allow-empty", "-m", "after the agent")
    git(target.work, "rev-parse", "of-the-user")
    assert files_of(target.home) == before


def test_no_function_follows_one_that_is_still_there(tmp_path: Path) -> None:
    target = make(tmp_path)
    work, place = target.work, target.work / ".git"
    damaged_files.remember(work)
    before, files = git_metadata.read_metadata(work), files_of(target.home)
    assert target.works(SCRIPT)
    (place / "refs").chmod(0o755)  # `restore_links` does it; nothing else lists what its owner may not
    (place / "refs/bridle").symlink_to(target.home / "documents")
    assert [name for name in damaged_files.restore(work) if name.startswith("refs/tags")] == []
    now = git_metadata.read_metadata(work)
    assert now.refs == before.refs
    assert set(now.files) == set(before.files)
    git_metadata.restore_files(before, now)
    git_metadata.restore_logs(before, now)
    git_metadata.restore_control_files(work / "nested/.git", {}, {"hooks/thesis": (0, b"")}, "nested")
    assert asyncio.run(stale_git_locks.clear(work, among_snapshots=True)) == []
    assert files_of(target.home) == files


@pytest.mark.parametrize(
    ("target", "is_found"), [("refs/heads/main", False), ("refs/heads/../../config", True), ("/etc/passwd", True)]
)
def test_only_a_head_that_leads_to_a_branch_is_git_s_own(tmp_path: Path, target: str, *, is_found: bool) -> None:
    (tmp_path / "HEAD").symlink_to(target)
    assert git_links.read(tmp_path) == ({"HEAD": target} if is_found else {})


def test_links_of_the_user_stay_and_are_restored(tmp_path: Path) -> None:
    target = make(tmp_path)
    work, hooks = target.work, target.work / ".git/hooks"
    for path in hooks.iterdir():
        path.unlink()
    hooks.rmdir()
    (work / "githooks").mkdir()
    (work / "githooks/pre-commit").write_text("true\n")
    hooks.symlink_to("../githooks")
    before = files_of(target.home)
    with git_metadata.agent_at_work(work) as baseline:
        hooks.unlink()
        hooks.symlink_to(target.home / "documents")
        (work / "githooks/pre-commit").write_text("evil\n")
        assert [report.path for report in baseline.restore_links()] == [".git/hooks"]
        now = git_metadata.read_metadata(work)
        assert [report.path for report in git_metadata.restore_files(baseline.metadata, now)] == [
            ".git/hooks/pre-commit"
        ]
        assert (work / "githooks/pre-commit").read_text() == "true\n"
        (work / "githooks").rename(work / "old")
        (work / "githooks").symlink_to(target.home / "documents")
        assert baseline.restore_links() == []
        assert git_metadata.restore_files(baseline.metadata, git_metadata.read_metadata(work)) == []
    assert str(hooks.readlink()) == "../githooks"
    assert files_of(target.home) == before
