"""Nested repositories of agents that work side by side arrive whole, or are kept whole."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.engine.drive.nested_work import find_blocked, find_nested, finish_moves, move_nested
from bridle.workspace.git import Git
from tests.engine.fixtures.driven_runs import DrivenRun, worktrees
from tests.engine.fixtures.killed_drivers import killed_at
from tests.engine.fixtures.two_agents import two
from tests.workspace.fixtures.repositories import git, make_repository, read_tree, write

COMMIT = "git -c user.name=a -c user.email=a@a commit -q -m inner"
NESTED = f"git init -q inner; cd inner; echo 1 > one; git add one; {COMMIT}; echo 2 > two; cd .."
WITHOUT_COMMIT = "git init -q sub/unborn; echo 3 > sub/unborn/three"


def test_nested_repositories_arrive_with_their_commits_and_files(tmp_path: Path) -> None:
    driven = two(tmp_path, f"$ {NESTED}; {WITHOUT_COMMIT}; echo x > x # first", "$ echo y > y # second")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "inner", "log", "--format=%s") == "inner\n"
    assert git(driven.folder / "inner", "status", "--porcelain") == "?? two\n"
    assert (driven.folder / "sub/unborn/three").read_text() == "3\n"
    assert {"x", "y"} <= set(read_tree(driven.folder))
    assert not (driven.folder / ".ralph/kept").exists()


def test_nested_repositories_in_one_place_are_a_conflict_and_the_second_is_kept(tmp_path: Path) -> None:
    driven = two(
        tmp_path,
        f"$ {NESTED}; echo first > inner/who # first",
        f"$ {NESTED}; git -C inner add two; echo second > inner/who; echo y > y # second",
    )
    assert driven.drive().status == "completed"
    ((name, data),) = [one for one in driven.output() if one != "done as told"]
    assert (name, data["conflicts"]) == ("WorkspaceConflict", ["inner"])
    kept = Path(data["workspace"]["folder"])
    assert data["workspace"]["nested"] == ["inner"]
    texts = {(folder / "inner/who").read_text() for folder in (kept, driven.folder)}
    assert texts == {"first\n", "second\n"}
    assert git(kept / "inner", "log", "--format=%s") == "inner\n"
    assert "kept" not in git(driven.folder, "status", "--porcelain")


def test_nested_repositories_of_a_failed_agent_are_kept(tmp_path: Path) -> None:
    driven = two(tmp_path, f"$ {WITHOUT_COMMIT}; exit 1 # first", "$ true # second")
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, other) == ("AgentFailed", "done as told")
    assert data["workspace"]["nested"] == ["sub/unborn"]
    assert (Path(data["workspace"]["folder"]) / "sub/unborn/three").read_text() == "3\n"
    assert not (driven.folder / "sub/unborn").exists()


@pytest.mark.parametrize(
    "point", ["entry BRIDLE_EFFECT_JOINING", "kept BRIDLE_EFFECT_JOINING", "entry EFFECT_RESOLVED"]
)
def test_nested_repositories_arrive_once_after_a_kill(tmp_path: Path, point: str) -> None:
    driven = two(tmp_path, f"$ {NESTED}; {WITHOUT_COMMIT} # first", "$ echo y > y; git init -q other # second")
    killed_at(driven, point)
    for name in ("inner", "sub/unborn", "other"):  # git may have been killed after it had made them
        (driven.folder / name).mkdir(exist_ok=True)
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "inner", "status", "--porcelain") == "?? two\n"
    assert (driven.folder / "sub/unborn/three").exists()
    assert (driven.folder / "other/.git/HEAD").exists()
    assert worktrees(driven.folder) == []
    assert kept_of(driven) <= interrupted(driven)


def test_only_free_places_and_empty_folders_are_not_blocked(tmp_path: Path) -> None:
    write(tmp_path, {"file": "1", "full/file": "1"})
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("full")
    names = ["empty", "new/place", "file", "full", "link", "link/below"]
    assert find_blocked(tmp_path, names) == ["file", "full", "link", "link/below"]


ADD = "git -c protocol.file.allow=always submodule --quiet add {lib} mod"
UPDATE = "git -c protocol.file.allow=always submodule --quiet update --init --recursive"
OWN = "cd mod; echo 1 > one; git add one; git -c user.name=a -c user.email=a@a commit -q -m own; echo 2 > two; cd .."


def kept_of(driven: DrivenRun) -> set[str]:
    """Return the effects whose work is kept in a folder."""
    folder = driven.folder / ".ralph/kept"
    return {path.name.rpartition("-")[0] for path in folder.iterdir()} if folder.exists() else set()


def interrupted(driven: DrivenRun) -> set[str]:
    """Return the effects whose agent was still at work when the driver was killed: another one began."""
    started = [str(entry.data["effectId"]) for entry in driven.entries() if entry.type == "BRIDLE_EFFECT_STARTED"]
    return {effect.lower() for effect in started if started.count(effect) > 1}


def make_library(folder: Path, name: str = "lib", *, inner: Path | None = None) -> Path:
    """Make a repository that can be a submodule, with another one as its own."""
    library = folder / name
    make_repository(library)
    write(library, {"code": name})
    git(library, "add", "-A")
    git(library, "commit", "-q", "-m", "code")
    if inner is not None:
        git(library, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "below")
        git(library, "commit", "-q", "-m", "with a submodule")
    return library


def add_submodule(repository: Path, library: Path) -> None:
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "mod")
    git(repository, "commit", "-q", "-m", "with a submodule")


def status(repository: Path) -> str:
    return git(repository, "submodule", "status", "--recursive")


@pytest.mark.parametrize("point", [None, "entry BRIDLE_EFFECT_JOINING", "kept BRIDLE_EFFECT_JOINING"])
def test_a_submodule_that_an_agent_adds_arrives_with_its_commits_files_and_submodules(
    tmp_path: Path, point: str | None
) -> None:
    library = make_library(tmp_path, inner=make_library(tmp_path, "inner"))
    driven = two(tmp_path, f"$ {ADD.format(lib=library)}; {UPDATE}; {OWN} # first", "$ echo y > y # second")
    if point is not None:
        killed_at(driven, point)
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "mod", "log", "-n1", "--format=%s") == "own\n"
    assert git(driven.folder / "mod", "status", "--porcelain") == "?? two\n"
    assert git(driven.folder / "mod/below", "status", "--porcelain") == ""
    assert (driven.folder / "mod/below/code").exists()
    git(driven.folder, "add", ".gitmodules", "mod")
    assert [line.split()[1] for line in status(driven.folder).splitlines()] == ["mod", "mod/below"]
    assert worktrees(driven.folder) == []
    assert kept_of(driven) <= interrupted(driven)


def test_files_in_the_place_of_a_submodule_arrive_in_it(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ mkdir -p mod/new; echo 1 > mod/new/one # first", "$ git init -q mod/repository # second")
    add_submodule(driven.folder, make_library(tmp_path))
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert (driven.folder / "mod/new/one").read_text() == "1\n"
    assert (driven.folder / "mod/repository/.git/HEAD").exists()
    assert git(driven.folder / "mod", "status", "--porcelain") == "?? new/\n?? repository/\n"


def test_files_that_a_submodule_has_are_a_conflict_and_are_kept(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo mine > mod/code; echo x > x # first", "$ echo y > y # second")
    add_submodule(driven.folder, make_library(tmp_path))
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, data["conflicts"], other) == ("WorkspaceConflict", ["mod/code"], "done as told")
    assert (Path(data["workspace"]["folder"]) / "mod/code").read_text() == "mine\n"
    assert (driven.folder / "mod/code").read_text() == "lib"
    assert not (driven.folder / "x").exists()


def test_files_in_the_place_of_a_nested_repository_arrive_in_it(tmp_path: Path) -> None:
    driven = two(tmp_path, "$ echo 1 > inner/one # first", "$ echo y > y # second")
    make_library(driven.folder, "inner")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "inner", "status", "--porcelain") == "?? one\n"


def test_a_submodule_that_an_agent_only_fills_stays_as_the_user_has_it(tmp_path: Path) -> None:
    driven = two(tmp_path, f"$ {UPDATE}; cat mod/code > copy # first", "$ echo y > y # second")
    add_submodule(driven.folder, make_library(tmp_path))
    (driven.folder / "mod/mine").write_text("of the user")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert (driven.folder / "copy").read_text() == "lib"
    assert git(driven.folder / "mod", "status", "--porcelain") == "?? mine\n"
    assert not (driven.folder / ".ralph/kept").exists()


@pytest.mark.parametrize(
    "work", [OWN, "echo 2 > mod/two", "echo 2 > mod/code", "git -C mod branch own HEAD; echo 2 > mod/two"]
)
def test_work_in_a_submodule_that_the_user_has_too_is_kept(tmp_path: Path, work: str) -> None:
    driven = two(tmp_path, f"$ {UPDATE}; {work} # first", "$ echo y > y # second")
    add_submodule(driven.folder, make_library(tmp_path))
    before = status(driven.folder)
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, data["conflicts"], other) == ("WorkspaceConflict", ["mod"], "done as told")
    kept = Path(data["workspace"]["folder"]) / "mod"
    assert git(kept, "status", "--porcelain") or git(kept, "log", "-n1", "--format=%s") == "own\n"
    assert (kept / ".git").is_dir()
    assert status(driven.folder) == before


def test_a_submodule_of_a_failed_agent_is_kept(tmp_path: Path) -> None:
    library = make_library(tmp_path)
    driven = two(tmp_path, f"$ {ADD.format(lib=library)}; {OWN}; exit 1 # first", "$ true # second")
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, other) == ("AgentFailed", "done as told")
    assert data["workspace"]["nested"] == ["mod"]
    assert git(Path(data["workspace"]["folder"]) / "mod", "log", "-n1", "--format=%s") == "own\n"


@pytest.mark.parametrize("step", ["rmtree", "move", "unlink", "rename"])
def test_a_git_folder_that_a_kill_left_between_its_places_arrives(tmp_path: Path, step: str) -> None:
    """The state after each step of the move, and after a part of one."""
    top = tmp_path / "top"
    make_repository(top)
    git(top, "worktree", "add", "-q", "../tree")
    tree = tmp_path / "tree"
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(make_library(tmp_path)), "mod")
    place = Path(git(tree / "mod", "rev-parse", "--absolute-git-dir").strip())
    moving = tree / "mod" / ".git-of-submodule"
    if step != "rmtree":
        git(tree / "mod", "config", "--unset-all", "core.worktree")
    match step:
        case "rmtree":
            moving.mkdir()
            (moving / "HEAD").write_text("a part of a copy")
        case "move":
            place.rename(moving)
        case "unlink":
            place.rename(moving)
            (tree / "mod/.git").unlink()
        case _:
            place.rename(moving)
            (tree / "mod/.git").unlink()
            moving.rename(tree / "mod/.git")

    async def move() -> list[str]:
        worktree = Git(tree)
        await finish_moves(worktree)
        found = await find_nested(worktree, tmp_path / "target")
        await move_nested(worktree, tmp_path / "target", found)
        return found

    assert asyncio.run(move()) == ["mod"]
    assert (tmp_path / "target/mod/.git").is_dir()
    assert git(tmp_path / "target/mod", "status", "--porcelain") == ""
