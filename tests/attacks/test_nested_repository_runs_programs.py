"""Attack: an agent makes a repository in a folder, with a filter, a hook or `core.fsmonitor` in its configuration.

Git starts itself in a nested repository at `git status` and `git add`, also the git of Bridle, outside of the sandbox.
What runs programs is removed before that, the rest of the repository stays, and the settings are named. In a
repository that the user had below the working copy, everything that git obeys is restored.

With the sandbox: the same; the working copy is writable.
Without: what runs programs is removed.
Reported: in the receipt, with the settings.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import git_metadata, nested_repositories
from bridle.loop.protection.git_files.nested_repositories import Repositories
from bridle.workspace.git import Git
from tests.attacks.fixtures.sandboxed import git, make_target


def restore(work: Path, before: Repositories) -> dict[str, str]:
    async def play() -> list[FileReport]:
        return await nested_repositories.restore(Git(work), work / ".git", before)

    return {report.path: report.what for report in asyncio.run(play())}


def make_nested(folder: Path) -> None:
    git(folder.parent, "init", "-q", folder.name)
    (folder / "a").write_text("a\n")
    (folder / ".gitattributes").write_text("* filter=x\n")
    git(folder, "add", "a")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "nested")
    git(folder, "remote", "add", "origin", "https://example.com/x")


def make_hostile(folder: Path, note: Path) -> None:
    command = f"sh -c 'echo ran >> {note}; cat'"
    for name in ("core.fsmonitor", "filter.x.clean", "core.hooksPath"):
        git(folder, "config", name, command)
    (folder / ".git/hooks/post-index-change").write_text(f"#!/bin/sh\necho ran >> {note}\n")
    (folder / ".git/hooks/post-index-change").chmod(0o755)
    (folder / "a").write_text("b\n")
    os.utime(folder / "a", (1, 1))


def test_it_runs_no_program(tmp_path: Path) -> None:
    work, note = make_target(tmp_path).work, tmp_path / "note"
    (work / "users").mkdir()
    make_nested(work / "users" / "library")
    before = nested_repositories.read(work, work / ".git")
    assert set(before.files) == {work / "users/library/.git"}
    make_nested(work / "nested")
    for folder in (work / "nested", work / "users/library"):
        make_hostile(folder, note)
    reports = restore(work, before)
    hook = ".git/hooks/post-index-change"
    assert set(reports) == {f"{f}/{n}" for f in ("nested", "users/library") for n in (".git/config", hook)}
    assert "core.fsmonitor, core.hookspath, filter.x.clean" in reports["nested/.git/config"]
    for _ in range(2):
        git(work, "add", "-A")
        git(work, "status")
    assert not note.exists()
    for folder in (work / "nested", work / "users/library"):
        assert git(folder, "remote", "get-url", "origin") == "https://example.com/x"
        assert git(folder, "status", "--porcelain", "a") == "M a"


def test_a_new_repository_without_programs_and_one_elsewhere_stay_as_they_are(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    make_nested(tmp_path / "elsewhere")
    make_hostile(tmp_path / "elsewhere", tmp_path / "note")
    before = (tmp_path / "elsewhere/.git/config").read_bytes()
    (work / "pointer").mkdir()
    (work / "pointer/.git").write_text(f"gitdir: {tmp_path}/elsewhere/.git\n")
    users = nested_repositories.read(work, work / ".git")
    make_nested(work / "nested")
    assert restore(work, users) == {}
    assert (tmp_path / "elsewhere/.git/config").read_bytes() == before


def test_settings_that_cannot_be_parsed_are_removed(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    for name, text in (("broken", "[core\n"), ("included", "[include]\n\tpath = ../evil\n"), ("plain", None)):
        make_nested(work / name)
        if text is not None:
            (work / name / ".git/config").write_text(text)
    (work / "broken/.git/hooks/pre-commit").symlink_to("/bin/true")
    reports = restore(work, Repositories())
    assert set(reports) == {"broken/.git/config", "broken/.git/hooks/pre-commit", "included/.git/config"}
    assert git(work / "broken", "status", "--porcelain", "a") == ""
    assert (work / "included/.git/config").read_text() == ""


def test_a_new_gitfile_that_leads_elsewhere_is_removed_and_one_of_the_user_restored(tmp_path: Path) -> None:
    """Attack: an agent leads `nested/.git` to a repository in a folder of its own outside of the working copy.

    A folder such as that of its sessions is writable in the sandbox, and its filter would run in the git of Bridle and
    of the user. So a file or link `.git` that was not there before is removed if it leads out of the working copy.

    With the sandbox: the same; the working copy is writable.
    Without: removed, or restored if the user had one.
    Reported: in the receipt, by name.
    """
    work, note = make_target(tmp_path).work, tmp_path / "note"
    make_nested(tmp_path / "users")
    make_nested(tmp_path / "agents")
    for name in ("kept", "changed", "new", "dangling", "newline", "link"):
        (work / name).mkdir()
    for name in ("kept", "changed"):
        (work / name / ".git").write_text(f"gitdir: {tmp_path}/users/.git\n")
    before = nested_repositories.read(work, work / ".git")
    make_hostile(tmp_path / "agents", note)
    (tmp_path / "agents/.git").rename(tmp_path / "a\nb")
    (work / "changed/.git").write_text(f"gitdir: {tmp_path}/a\nb\n")
    (work / "new/.git").write_text(f"gitdir: {tmp_path}/users/.git\0\n")
    (work / "dangling/.git").write_text(f"gitdir: {tmp_path}/not-yet\n")
    (work / "newline/.git").write_text(f"gitdir: {tmp_path}/a\nb\n")
    (work / "link/.git").symlink_to(tmp_path / "a\nb")
    reports = restore(work, before)
    assert set(reports) == {f"{name}/.git" for name in ("changed", "new", "dangling", "newline", "link")}
    assert (work / "changed/.git").read_text() == (work / "kept/.git").read_text()
    assert [name for name in ("new", "dangling", "newline", "link") if (work / name / ".git").exists()] == []
    git(work, "status")
    assert not note.exists()


def add_submodule(work: Path, library: Path) -> None:
    make_nested(library)
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    git(work, "commit", "-q", "-m", "sub")


def move_git_folder(folder: Path, place: Path) -> None:
    """Lead a repository to a git folder elsewhere."""
    place.parent.mkdir(parents=True, exist_ok=True)
    (folder / ".git").rename(place)
    (folder / ".git").write_text(f"gitdir: {place}\n")


@pytest.mark.parametrize(
    "place",
    [
        *("modules/sub/objects/evil", "modules/evil", "worktrees/users/logs/evil", "worktrees/evil", "objects/evil"),
        *("worktrees/users/modules/evil", "refs/heads/evil", "logs/modules/evil"),
    ],
)
def test_a_new_gitfile_into_the_git_folder_of_the_repository_is_removed(tmp_path: Path, place: str) -> None:
    """Attack: an agent leads `nested/.git` to a repository that it hides in the git folder of the repository.

    Objects, refs and logs are writable in the sandbox, also those of worktrees and submodules. Only the folders of
    worktrees, if they lead back, and of submodules may be named.

    With the sandbox: the same; these folders are writable.
    Without: removed, or what runs programs is.
    Reported: in the receipt, by name.
    """
    work, note = make_target(tmp_path).work, tmp_path / "note"
    add_submodule(work, tmp_path / "library")
    git(work, "worktree", "add", "-q", "users")
    with git_metadata.agent_at_work(work) as baseline:
        before = nested_repositories.read(work, work / ".git")
        make_nested(work / "nested")
        git(work, "add", "nested")
        make_hostile(work / "nested", note)
        move_git_folder(work / "nested", work / ".git" / place)
        reports = restore_all(work, baseline, before)
    git(work, "status")
    git(work, "add", "-A")
    assert not note.exists()
    is_submodule = place in ("modules/evil", "worktrees/users/modules/evil")  # as one that the agent has added
    assert (work / "nested/.git").exists() == is_submodule
    assert ("nested/.git" in reports) != is_submodule
    assert git(work / "users", "status", "--porcelain") == git(work / "sub", "status", "--porcelain") == ""


def restore_all(work: Path, baseline: git_metadata.Baseline, before: Repositories) -> dict[str, str]:
    async def play() -> list[FileReport]:
        now = git_metadata.read_metadata(work, place=baseline.metadata.folder)
        reports = await nested_repositories.restore(Git(work), now.folder, before)
        return [*reports, *await nested_repositories.make_linked_harmless(Git(work), baseline.metadata, now)]

    return {report.path: report.what for report in asyncio.run(play())}


@pytest.mark.parametrize("place", [".git", "users/.git", ".git/worktrees/users", ".", "library"])
def test_a_new_gitfile_to_a_repository_of_the_user_is_removed_and_that_stays_as_it_is(
    tmp_path: Path, place: str
) -> None:
    """Attack: an agent leads `nested/.git` to a git folder of the user, for Bridle to take that for a new repository.

    With the sandbox: the same; the working copy is writable.
    Without: removed, and no file of the user changes.
    Reported: in the receipt, by name.
    """
    work = make_target(tmp_path).work
    git(work, "worktree", "add", "-q", "users")
    make_nested(work / "library")
    for folder in (work, work / "library"):
        make_hostile(folder, tmp_path / "note")
    with git_metadata.agent_at_work(work) as baseline:
        before = nested_repositories.read(work, work / ".git")
        (work / "nested").mkdir()
        leads_to = work / place / ".git" if place == "library" else work / place
        (work / "nested/.git").write_text(f"gitdir: {leads_to}\n")
        assert set(restore_all(work, baseline, before)) == {"nested/.git"}
        now = git_metadata.read_metadata(work)
        assert now.files == baseline.metadata.files
        after = nested_repositories.read(work, work / ".git")
        assert (after.files, after.links, after.pointers) == (before.files, before.links, before.pointers)


def test_new_worktrees_and_submodules_stay(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    with git_metadata.agent_at_work(work) as baseline:
        before = nested_repositories.read(work, work / ".git")
        add_submodule(work, tmp_path / "library")
        git(work, "worktree", "add", "-q", "trees/new")
        git(work / "trees/new", "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
        make_nested(work / "separate")
        move_git_folder(work / "separate", work / "separate/data")
        assert restore_all(work, baseline, before) == {}
    for name in ("sub", "trees/new", "trees/new/sub", "separate"):
        assert git(work / name, "rev-parse", "--show-toplevel") == str(work / name)


def test_a_link_on_the_way_that_a_gitfile_of_the_user_leads_is_not_followed(tmp_path: Path) -> None:
    work, note = make_target(tmp_path).work, tmp_path / "note"
    make_nested(work / "users")
    move_git_folder(work / "users", work / "data/git")
    before = nested_repositories.read(work, work / ".git")
    make_nested(tmp_path / "agents")
    make_hostile(tmp_path / "agents", note)
    (tmp_path / "agents/.git").rename(tmp_path / "agents/git")
    (work / "data").rename(work / "old")
    (work / "data").symlink_to(tmp_path / "agents")
    assert set(restore(work, before)) == {"users/.git"}
    git(work, "add", "-A")
    assert not note.exists()


# What lets root list everything; without it root is like everybody else.
BLIND = "-dac_override,-dac_read_search"


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root lists everything")
@pytest.mark.parametrize(("mode", "is_users"), [(0o311, True), (0o311, False), (0o611, False), (0, False)])
def test_a_folder_that_cannot_be_listed_hides_none(tmp_path: Path, mode: int, *, is_users: bool) -> None:
    """Attack: an agent lets a nested repository in a folder that can be entered and not listed (`chmod 0311`).

    Git enters it by its index. The folder is opened before git starts; one that the user has so is listed, and has its
    mode again.

    With the sandbox: the same; the working copy is writable.
    Without: the folder is opened, and what runs programs in it is removed or restored.
    Reported: in the receipt, by name.
    """
    work, note = make_target(tmp_path).work, tmp_path / "note"
    (work / "lib").mkdir()
    make_nested(work / "lib/known")
    git(work, "add", "lib")
    script = tmp_path / "script.py"
    script.write_text(UNLISTABLE)
    lead = ["setpriv", f"--bounding-set={BLIND}", f"--inh-caps={BLIND}"] if os.geteuid() == 0 else []
    command = [*lead, sys.executable, str(script), str(work), str(note), str(int(is_users)), str(mode)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    reports = set(done.stdout.split())
    assert {"lib/known/.git/config", "lib/new/.git/config"} <= reports
    assert ("lib" in reports) != is_users
    assert stat.S_IMODE((work / "lib").stat().st_mode) == (mode if is_users else mode | 0o700)
    assert not note.exists()


UNLISTABLE = """
import asyncio, sys
from pathlib import Path
from types import SimpleNamespace
from bridle.loop.performers import after_agent
from bridle.loop.protection.git_files import git_metadata
from bridle.workspace.git import Git
from tests.attacks.test_nested_repository_runs_programs import git, make_hostile, make_nested

work, note, is_users, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "1", int(sys.argv[4])
context = SimpleNamespace(
    folder=work, workspace=work, progress_folder=work, run_folder=work / ".a5c/runs/r1", git=Git(work)
)
with git_metadata.agent_at_work(work) as baseline:
    if is_users:
        (work / "lib").chmod(mode)
    before = after_agent.files_before(context, baseline)
    make_nested(work / "lib/new")
    for name in ("known", "new"):
        make_hostile(work / "lib" / name, note)
        (work / "lib" / name / ".git").chmod(0o600)
    (work / "lib").chmod(mode)
    now = git_metadata.read_metadata(work)
    reports, _ = asyncio.run(after_agent.restore_control_files(context, baseline, now, before))
    print(*(report.path for report in reports), sep="\\n")
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{git(work / 'lib/new', 'rev-parse', 'HEAD')},lib/new")
    git(work, "status")
"""


def test_a_repository_that_is_not_found_again_is_restored(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    make_nested(work / "users")
    move_git_folder(work / "users", work / "data/git")
    before = nested_repositories.read(work, work / ".git")
    git(work / "users", "config", "core.fsmonitor", "evil")
    (work / "users/.git").unlink()
    assert set(restore(work, before)) == {"data/git/config"}
