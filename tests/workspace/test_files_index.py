"""The private index that is kept between looks: it is fast, and never believes what is not true any more."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from bridle.workspace import files_index, snapshot
from bridle.workspace.commit import commit_index
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file
from tests.workspace.fixtures.repositories import git, make_repository, write


def tree(repo: Git, *, as_committed: bool = True, is_known: bool = False) -> str:
    return asyncio.run(snapshot.tree_of_all(repo, as_committed=as_committed, is_known=is_known))


def fresh(repo: Git, *, as_committed: bool = True) -> str:
    """Return the tree that a look without a kept index finds."""
    return tree(Git(repo.folder), as_committed=as_committed)


def kept(repo: Git) -> Path:
    (path,) = (Path(index.variables["GIT_INDEX_FILE"]) for index in repo.files_indexes.values())
    return path


def make_old(repo: Git) -> None:
    """Change the kept indexes as if all files had been written long before the last look."""
    for index in repo.files_indexes.values():
        index.trust_sizes()
        index._identity = index_file.identify(Path(index.variables["GIT_INDEX_FILE"]))


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git that logs its arguments in front of the real one; return the log."""
    log, program = tmp_path / "calls", tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho \"$*\" >>'{log}'\nexec '{shutil.which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return log


def test_a_file_that_is_not_tracked_is_hashed_once(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    (repo.folder / "large").write_bytes(b"x" * 100_000)
    os.utime(repo.folder / "large", (1, 1))
    first = tree(repo)
    blob = git(repo.folder, "rev-parse", f"{first}:large").strip()
    make_old(repo)
    stored = repo.folder / ".git" / "objects" / blob[:2] / blob[2:]
    stored.unlink()
    assert tree(repo) == first
    assert not stored.exists()


def test_a_known_look_starts_no_git(tmp_path: Path, calls: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n"})
    first = tree(repo)
    calls.unlink()
    assert tree(repo, is_known=True) == first
    assert tree(repo, is_known=True, as_committed=False) == first
    assert not calls.exists(), calls.read_text()


def test_a_look_byte_for_byte_does_not_make_the_files_as_committed_known(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.autocrlf", "true")
    tree(repo)
    write(repo.folder, {"new.txt": "new\r\n"})
    found = tree(repo, as_committed=False)
    assert git(repo.folder, "cat-file", "-p", f"{found}:new.txt") == "new\r\n"
    assert tree(repo, is_known=True) == fresh(repo)


@pytest.mark.parametrize("name", ["a.txt", "untracked.txt"])
def test_a_change_of_the_same_size_with_a_forged_mtime_is_seen(tmp_path: Path, name: str) -> None:
    repo = make_repository(tmp_path / "r")
    path = repo.folder / name
    for content in (b"one\n", b"two\n", b"six\n"):
        path.write_bytes(content)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        found = tree(repo)
        assert git(repo.folder, "show", f"{found}:{name}").encode() == content


def test_a_file_that_was_staged_and_changed_in_the_same_second_is_seen(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    path = repo.folder / "staged.txt"
    path.write_bytes(b"one\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    git(repo.folder, "add", "-A")
    path.write_bytes(b"two\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert git(repo.folder, "show", f"{tree(repo)}:staged.txt") == "two\n"


def test_an_ignored_file_that_was_added_by_force_or_removed_is_tracked_as_in_the_real_index(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {".gitignore": "*.log\n", "x.log": "x\n", "untracked.txt": "u\n"})
    without = tree(repo)
    git(repo.folder, "add", "-f", "x.log")
    assert tree(repo) == fresh(repo) != without
    assert tree(repo, is_known=True) == fresh(repo)
    git(repo.folder, "rm", "-q", "--cached", "x.log")
    assert tree(repo) == without


def test_a_staged_file_does_not_cost_what_is_known_about_others(tmp_path: Path, calls: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"untracked.txt": "u\n"})
    tree(repo)
    path = kept(repo)
    write(repo.folder, {"b.txt": "b\n"})
    git(repo.folder, "add", "b.txt")
    assert tree(repo) == fresh(repo)
    assert kept(repo) == path


def test_marks_that_were_set_since_hide_nothing(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"untracked.txt": "u\n"})
    tree(repo)
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    write(repo.folder, {"a.txt": "hidden\n"})
    assert git(repo.folder, "show", f"{tree(repo)}:a.txt") == "hidden\n"


def test_conversions_that_were_changed_apply_to_unchanged_files(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"untracked.txt": "u\r\n"})
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "u\r\n"
    write(repo.folder, {".gitattributes": "*.txt text eol=crlf\n"})
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "u\n"
    write(repo.folder, {".gitattributes": "*.txt filter=upper\n"})
    git(repo.folder, "config", "filter.upper.clean", "tr a-z A-Z")
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "U\r\n"
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo, as_committed=False)}:untracked.txt") == "u\r\n"
    write(repo.folder / ".git" / "info", {"attributes": "*.txt -filter\n"})
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "u\r\n"


def test_settings_that_were_changed_apply_to_unchanged_files(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"untracked.txt": "u\r\n"})
    os.utime(repo.folder / "untracked.txt", (1, 1))
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "u\r\n"
    make_old(repo)
    git(repo.folder, "config", "core.autocrlf", "input")
    assert git(repo.folder, "cat-file", "-p", f"{tree(repo)}:untracked.txt") == "u\n"


def test_a_lock_of_a_killed_git_and_a_damaged_index_are_passed_over(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n"})
    first = tree(repo)
    kept(repo).with_name(f"{kept(repo).name}.lock").write_text("")
    assert tree(repo) == first
    data = bytearray(kept(repo).read_bytes())
    kept(repo).write_bytes(data[:-30])
    assert tree(repo) == first
    data = bytearray(kept(repo).read_bytes())
    data[80] ^= 255
    facts = kept(repo).stat()
    kept(repo).write_bytes(data)
    os.utime(kept(repo), ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert tree(repo, is_known=True) == first
    assert [path.name for path in (repo.folder / ".git").glob("bridle-*")] == [kept(repo).name]


def test_the_index_is_replaced_as_git_would_have_written_it(tmp_path: Path, calls: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "user.name", "T")
    git(repo.folder, "config", "user.email", "t@localhost")
    write(repo.folder, {"new.txt": "new\n", "a.txt": "changed\n"})

    async def replaced() -> bool:
        async with files_index.look(repo, as_committed=True) as index:
            assert index.replace_real_index()
            calls.unlink()
            return await commit_index(repo, "subject\n\nbody\n", tree=index.tree, is_refreshed=True) is not None

    assert asyncio.run(replaced())
    assert len(calls.read_text().splitlines()) == 1
    calls.unlink()
    asyncio.run(snapshot.take(repo, is_known=True))
    assert not calls.exists(), calls.read_text()
    assert git(repo.folder, "diff-index", "--name-only", "HEAD") == ""  # reads no file: the stat data is there
    assert git(repo.folder, "status", "--porcelain") == ""
    assert git(repo.folder, "log", "-1", "--format=%B%an") == "subject\n\nbody\nT\n"
    assert git(repo.folder, "reflog", "-1", "--format=%gs") == "commit: subject\n"
    git(repo.folder, "fsck", "--strict")


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_the_index_keeps_its_permissions_when_it_is_replaced(tmp_path: Path, mode: int) -> None:
    repo = make_repository(tmp_path / "r")
    real = repo.folder / ".git" / "index"
    real.chmod(mode)
    write(repo.folder, {"new.txt": "new\n"})

    async def replaced() -> bool:
        async with files_index.look(repo, as_committed=True) as index:
            return index.replace_real_index()

    assert asyncio.run(replaced())
    assert real.stat().st_mode & 0o777 == mode


def test_the_growing_output_of_the_program_is_no_change_since_a_look(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    repo.own_output = ("run.log",)
    write(repo.folder, {"run.log": "one\n"})
    tree(repo)
    write(repo.folder, {"run.log": "one\ntwo\n"})
    assert asyncio.run(files_index.changed_since_look(repo)) == ([], [])
    write(repo.folder, {"new.txt": "new\n"})
    assert asyncio.run(files_index.changed_since_look(repo)) == (["new.txt"], [])


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_replaced_index_has_the_checksum_of_the_object_format(tmp_path: Path, object_format: str) -> None:
    folder = tmp_path / "r"
    git(tmp_path, "init", "-q", f"--object-format={object_format}", str(folder))
    repo = Git(folder)
    write(folder, {"a.txt": "one\n"})
    git(folder, "add", "-A")
    write(folder, {"new.txt": "new\n"})

    async def replaced() -> bool:
        async with files_index.look(repo, as_committed=True) as index:
            return index.replace_real_index()

    assert asyncio.run(replaced())
    git(folder, "fsck", "--strict")
    assert git(folder, "ls-files").split() == ["a.txt", "new.txt"]


@pytest.mark.parametrize("words", [("--split-index",), ("--untracked-cache",), ("--assume-unchanged", "a.txt")])
def test_an_index_that_has_more_than_entries_is_not_replaced(tmp_path: Path, words: tuple[str, ...]) -> None:
    repo = make_repository(tmp_path / "r")
    git(
        repo.folder,
        "update-index",
        "--force-untracked-cache" if words == ("--untracked-cache",) else words[0],
        *words[1:],
    )
    write(repo.folder, {"new.txt": "new\n"})
    before = (repo.folder / ".git" / "index").read_bytes()

    async def replaced() -> bool:
        async with files_index.look(repo, as_committed=True) as index:
            return index.replace_real_index()

    assert not asyncio.run(replaced())
    assert (repo.folder / ".git" / "index").read_bytes() == before


def test_a_locked_index_is_not_replaced(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n"})
    write(repo.folder / ".git", {"index.lock": ""})

    async def replaced() -> bool:
        async with files_index.look(repo, as_committed=True) as index:
            return index.replace_real_index()

    assert not asyncio.run(replaced())
    assert (repo.folder / ".git" / "index.lock").exists()


def test_two_looks_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {f"{n}.txt": f"{n}\n" for n in range(50)})

    async def both() -> list[str]:
        return await asyncio.gather(*(snapshot.tree_of_all(repo, as_committed=True) for _ in range(4)))

    assert set(asyncio.run(both())) == {fresh(repo)}


@pytest.mark.parametrize("has_more_flags", [False, True])
def test_names_with_an_ending_are_those_that_git_lists(tmp_path: Path, has_more_flags: bool) -> None:
    git(tmp_path, "init", "-q")
    names = ["a.py", "a.pyc", "b/c.py", "b/é.py", "b/.py.txt", "x" * 200 + "/" + "y" * 200 + ".py", "\n.py"]
    names += [f"{'n' * number}.py" for number in range(1, 250)]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    git(tmp_path, "add", "-A", *(["--intent-to-add"] if has_more_flags else []))
    for some in (names, [name for name in names if len(name) < 256]):
        if len(some) < len(names):
            git(tmp_path, "rm", "-q", "--cached", "-r", "x" * 200)
        found = index_file.names_with_ending(tmp_path / ".git/index", 40, ".py")
        assert found == {name for name in some if name.endswith(".py")}
    assert index_file.names_with_ending(tmp_path / "missing", 40, ".py") == frozenset()
