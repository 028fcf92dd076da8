"""A working copy is moved from one tree to another as git does it, or not at all, and no file of others is lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bridle.errors import GitError
from bridle.ground import disk
from bridle.workspace import move_files
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_content, replace_files
from bridle.workspace.git_folder.index_content import Index
from bridle.workspace.git_folder.replace_files import Change
from tests.sizes import SIZES
from tests.workspace.fixtures.repositories import git, read_tree, write

# Changes are frequent, and sometimes a file becomes a folder or a link.
NAMES = (
    "a",
    "b.txt",
    "b",
    "c/d",
    "c/e",
    "c/f/g",
    "c.txt",
    "h/i/j",
    "h/i.txt",
    "j k",
    "ü",
    "-x",
    "l\n",
    "c/f/m/n",
    "h/i",
    "c/f",
)
KINDS = ("file", "file", "file", "program", "link")
Files = dict[str, tuple[str, str]]
SEEDS = range(max(40, SIZES.hypothesis_examples // 2))
BEFORE: Files = {
    "a.txt": ("file", "one\n"),
    "run": ("program", "#!/bin/sh\n"),
    "link": ("link", "a.txt"),
    "sub/b.txt": ("file", "two\n"),
    "gone/deep/c": ("file", "three\n"),
    "same": ("file", "same\n"),
    "keep/d": ("file", "four\n"),
}
AFTER: Files = {
    "a.txt": ("file", "changed\n"),
    "run": ("file", "#!/bin/sh\n"),
    "link": ("link", "same"),
    "sub/b.txt": ("program", "two\n"),
    "new/deep/e": ("file", "five\n"),
    "new/f": ("program", "six\n"),
    "same": ("file", "same\n"),
    "keep/d": ("file", "four\n"),
}


def fill(folder: Path, files: Files) -> None:
    """Let a folder have exactly these files."""
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, (kind, content) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(content)
        else:
            path.write_text(content)
            path.chmod(0o755 if kind == "program" else 0o644)


def make(folder: Path, before: Files, after: Files, form: str = "sha1") -> tuple[Git, str, str]:
    """Make a repository with the files of one commit, and another one."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", f"--object-format={form}")
    git(folder, "config", "core.protectNTFS", "false")
    commits = []
    for files in (after, before):
        fill(folder, files)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", "x")
        commits.append(git(folder, "rev-parse", "HEAD^{tree}").strip())
    return Git(folder), commits[1], commits[0]


def move(repo: Git, before: str, after: str) -> bool:
    return asyncio.run(move_files.move_without_git(repo, before, after))


def state(folder: Path) -> dict[str, object]:
    """Return all that a checkout may change: files, folders, permissions, the index with its trees."""
    index = index_content.read_index((folder / ".git/index").read_bytes(), 20)
    return {
        "files": read_tree(folder),
        "modes": {name: stat.S_IMODE((folder / name).lstat().st_mode) for name in read_tree(folder)},
        "folders": sorted(str(path.relative_to(folder)) for path in folders(folder)),
        "index": git(folder, "ls-files", "-s", "-z"),
        "flags": git(folder, "ls-files", "-v", "-z"),
        "trees": index.trees,
        "changed": git(folder, "diff-files", "--name-only"),
    }


def folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink() and ".git" not in path.parts)


def some_files(chance: random.Random) -> Files:
    files: Files = {}
    for name in chance.sample(NAMES, chance.randint(1, len(NAMES))):
        if not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in files):
            files[name] = (chance.choice(KINDS), f"{chance.randint(1, 4)}")
    return files


def some_changes(chance: random.Random, files: Files) -> Files:
    """Return the files after some of them were changed, deleted, or added."""
    changed = {name: file for name, file in files.items() if chance.random() < 0.8}
    for name in list(changed):
        if chance.random() < 0.4:
            changed[name] = (chance.choice(KINDS), f"{chance.randint(1, 4)}")
    for name, file in some_files(chance).items():
        if not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in changed):
            changed.setdefault(name, file)
    return changed or files


def replaces_by_folder(before: Files, after: Files) -> bool:
    sides = ((before, after), (after, before))
    return any(other.startswith(f"{name}/") for one, two in sides for name in one for other in two)


@pytest.mark.parametrize("seed", SEEDS)
def test_files_and_index_are_those_of_git(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # not a secret
    before = some_files(chance)
    after = some_changes(chance, before)
    repo, old, new = make(tmp_path / "r", before, after)
    shutil.copytree(repo.folder, tmp_path / "other", symlinks=True)
    start = state(repo.folder)
    is_moved = move(repo, old, new)
    assert is_moved == (not replaces_by_folder(before, after))
    if not is_moved:
        assert state(repo.folder) == start
        return
    git(tmp_path / "other", "update-index", "--refresh")
    git(tmp_path / "other", "read-tree", "-m", "-u", old, new)
    assert state(repo.folder) == state(tmp_path / "other")
    assert git(repo.folder, "write-tree").strip() == new
    git(repo.folder, "reset", "-q", "--soft", git(repo.folder, "commit-tree", new, "-m", "x").strip())
    assert git(repo.folder, "status", "--porcelain") == ""
    assert git(repo.folder, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert [path.name for path in (repo.folder / ".git").iterdir() if path.name.startswith(("bridle", "index."))] == []


def test_an_index_of_sha256_has_ids_and_a_checksum_of_that_length(tmp_path: Path) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER, "sha256")
    assert move(repo, old, new)
    assert git(repo.folder, "write-tree").strip() == new
    assert git(repo.folder, "diff-files", "--name-only") == ""
    assert git(repo.folder, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_uncommitted_changes_of_other_files_stay_as_they_are(tmp_path: Path) -> None:
    """As with `git reset --keep`, of which only the branch is missing."""
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    for name, content in (("same", "of the user\n"), ("new/untracked", "u\n"), ("gone/deep/mine", "m\n")):
        write(repo.folder, {name: content})
    (repo.folder / "keep/d").unlink()
    shutil.copytree(repo.folder, tmp_path / "other", symlinks=True)
    assert move(repo, old, new)
    git(tmp_path / "other", "update-index", "-q", "--refresh", "--ignore-missing")
    commit = git(tmp_path / "other", "commit-tree", new, "-m", "x").strip()
    git(tmp_path / "other", "reset", "-q", "--keep", commit)
    assert state(repo.folder) == state(tmp_path / "other")
    assert (repo.folder / "same").read_text() == "of the user\n"
    assert (repo.folder / "gone/deep/mine").exists()


def _attributes(folder: Path) -> None:
    write(folder, {".git/info/attributes": "*.txt text\n"})


def _untracked_attributes(folder: Path) -> None:
    write(folder, {"sub/.gitattributes": "*.txt eol=crlf\n"})


def _staged(folder: Path) -> None:
    write(folder, {"same": "staged\n"})
    git(folder, "add", "same")


def _in_conflict(folder: Path) -> None:
    blob = git(folder, "rev-parse", ":same").strip()
    (folder / "lines").write_text(f"0 {'0' * 40}\tsame\n100644 {blob} 1\tsame\n100644 {blob} 2\tsame\n")
    git(folder, "-c", "alias.in=!git update-index --index-info <lines", "in")
    (folder / "lines").unlink()


def _nested(folder: Path) -> None:
    git(folder, "init", "-q", "new")


def _packed(folder: Path) -> None:
    for name in ("one", "two"):
        git(folder, "branch", name, git(folder, "rev-parse", f"main{'^' * (name == 'two')}").strip())
    git(folder, "repack", "-q", "-a", "-d", "-l")
    git(folder, "prune-packed")


def _forged(folder: Path) -> None:
    blob, other = (git(folder, "rev-parse", f"main^:{name}").strip() for name in ("a.txt", "same"))
    path = folder / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes((folder / ".git/objects" / other[:2] / other[2:]).read_bytes())


def _linked_folder(folder: Path) -> None:
    (folder / "sub").rename(folder.parent / "sub")
    (folder / "sub").symlink_to(folder.parent / "sub")


def _split(folder: Path) -> None:
    git(folder, "update-index", "--split-index")


def _added_later(folder: Path) -> None:
    write(folder, {"later": ""})
    git(folder, "add", "--intent-to-add", "later")


def _replace(folder: Path, make_other: Callable[[Path], object]) -> None:
    (folder / "a.txt").unlink()
    make_other(folder / "a.txt")


def _set(setting: str, folder: Path) -> None:
    git(folder, "config", *setting.split("="))


SETTINGS = [
    "core.autocrlf=input",
    "core.ignoreCase=true",
    "core.fileMode=false",
    "core.symlinks=false",
    "core.sparseCheckout=true",
    "core.sharedRepository=group",
    "core.precomposeUnicode=true",
    "core.protectHFS=true",
    "attr.tree=HEAD",
]
UNUSUAL: dict[str, Callable[[Path], object]] = {
    **{setting: partial(_set, setting) for setting in SETTINGS},
    "core.worktree": lambda folder: git(folder, "config", "core.worktree", str(folder)),
    "attributes": _attributes,
    "untracked attributes": _untracked_attributes,
    "staged": _staged,
    "in conflict": _in_conflict,
    "nested repository": _nested,
    "packed": _packed,
    "forged blob": _forged,
    "linked folder": _linked_folder,
    "split index": _split,
    "untracked cache": lambda folder: git(folder, "update-index", "--force-untracked-cache"),
    "version 4": lambda folder: git(folder, "update-index", "--index-version", "4"),
    "assume-unchanged": lambda folder: git(folder, "update-index", "--assume-unchanged", "same"),
    "skip-worktree": lambda folder: git(folder, "update-index", "--skip-worktree", "same"),
    "intent to add": _added_later,
    "end of entries": lambda folder: git(folder, "-c", "index.threads=2", "update-index", "--force-write-index"),
    "locked": lambda folder: (folder / ".git/index.lock").touch(),
    "no index": lambda folder: (folder / ".git/index").unlink(),
    "untracked in the way": lambda folder: write(folder, {"new/f": "mine\n"}),
    "ignored in the way": lambda folder: write(folder, {".git/info/exclude": "f\n", "new/f": "mine\n"}),
    "folder in the way": lambda folder: (folder / "new/f").mkdir(parents=True),
    "file in the way of a folder": lambda folder: write(folder, {"new": "mine\n"}),
    "edited": lambda folder: write(folder, {"a.txt": "of the user\n"}),
    "edited, which goes": lambda folder: write(folder, {"gone/deep/c": "of the user\n"}),
    "other mode": lambda folder: (folder / "a.txt").chmod(0o755),
    "a link now": lambda folder: _replace(folder, lambda path: path.symlink_to("same")),
    "a folder now": lambda folder: _replace(folder, Path.mkdir),
    "a pipe now": lambda folder: _replace(folder, os.mkfifo),
}


@pytest.mark.parametrize("change", UNUSUAL)
def test_what_is_unusual_is_left_to_git_without_a_change(tmp_path: Path, change: str) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    UNUSUAL[change](repo.folder)
    before = _bytes_of(repo.folder)
    assert not move(repo, old, new)
    assert _bytes_of(repo.folder) == before


def _bytes_of(folder: Path) -> dict[str, object]:
    index = folder / ".git/index"
    paths = [path for path in folder.rglob("*") if path.relative_to(folder).parts[:2] != (".git", "objects")]
    return {
        "files": {path: path.read_bytes() for path in paths if path.is_file() and path != index},
        "all": {(path, path.lstat().st_mode, path.lstat().st_ino) for path in paths if path != index},
        "index": index.read_bytes() if index.exists() else None,
    }


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitmodules", "git~1", "a\\b", "sub/.GIT2/x"])
def test_names_that_git_treats_differently_are_left_to_it(tmp_path: Path, name: str) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, {**BEFORE, name: ("file", "x\n")})
    assert not move(repo, old, new)


def test_odd_objects_are_left_to_git(tmp_path: Path) -> None:
    """An agent may have written them."""
    repo, old, _ = make(tmp_path / "r", BEFORE, AFTER)
    (tmp_path / "blob").write_bytes(b"a\0b")
    blob = git(repo.folder, "hash-object", "-w", str(tmp_path / "blob")).strip()
    for lines in (f"120000 blob {blob}\tlink\n", f"100644 blob {blob}\ta/../b\n"):
        (tmp_path / "tree").write_bytes(_tree_of(lines))
        new = git(repo.folder, "hash-object", "-w", "--literally", "-t", "tree", str(tmp_path / "tree")).strip()
        assert not move(repo, old, new)
        assert git(repo.folder, "status", "--porcelain") == ""


def _tree_of(line: str) -> bytes:
    """Return a tree of one entry, which git itself would not write."""
    facts, _, name = line.rstrip("\n").partition("\t")
    mode, _, blob = facts.split(" ")
    return b"%b %b\0%b" % (mode.encode(), name.encode(), bytes.fromhex(blob))


def test_submodules_and_many_or_large_files_are_left_to_git(tmp_path: Path) -> None:
    many: Files = {f"m/{number}": ("file", "x\n") for number in range(move_files.MOST_FILES + 1)}
    large: Files = {"large": ("file", "x" * (replace_files.LIMIT_BYTES + 1))}
    for number, files in enumerate((many, large)):
        repo, old, new = make(tmp_path / f"r{number}", BEFORE, {**BEFORE, **files})
        assert not move(repo, old, new)
        assert not move(make(tmp_path / f"s{number}", {**BEFORE, **files}, BEFORE)[0], new, old)
    repo, old, _ = make(tmp_path / "sub", BEFORE, AFTER)
    head = git(repo.folder, "rev-parse", "HEAD").strip()
    git(repo.folder, "update-index", "--add", "--cacheinfo", f"160000,{head},nested")
    new = git(repo.folder, "write-tree").strip()
    git(repo.folder, "read-tree", "HEAD")
    assert not move(repo, old, new)


def test_files_that_are_as_wanted_already_or_missing_are_no_obstacle(tmp_path: Path) -> None:
    """A process that was killed leaves such."""
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    write(repo.folder, {"a.txt": "changed\n", "new/f": "six\n"})
    (repo.folder / "new/f").chmod(0o755)
    for name in ("sub/b.txt", "gone/deep/c", "link"):
        (repo.folder / name).unlink()
    (repo.folder / "sub").rmdir()
    assert move(repo, old, new)
    fresh, old, new = make(tmp_path / "fresh", BEFORE, AFTER)
    assert move(fresh, old, new)
    assert read_tree(repo.folder) == read_tree(fresh.folder)
    assert git(repo.folder, "diff-files", "--name-only") == ""


def test_a_change_in_the_same_second_with_a_forged_time_is_seen(tmp_path: Path) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    write(repo.folder, {"same": "sane\n"})  # changed after git has written the index
    assert move(repo, old, new)
    for name in ("a.txt", "new/f"):
        facts = (repo.folder / name).stat()
        (repo.folder / name).write_text((repo.folder / name).read_text().upper())
        os.utime(repo.folder / name, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert git(repo.folder, "diff-files", "--name-only").split() == ["a.txt", "new/f", "same"]


class Racing:
    """Another program that changes a file at a moment of its replacement."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, call: str, act: Callable[[], object], *, after: bool) -> None:
        self._real, self._act, self._after, self.acted = getattr(os, call), act, after, False
        monkeypatch.setattr(os, call, self)

    def __call__(self, source: str, target: str, **more: object) -> None:
        is_it = "a.txt" in (source, target) and not self.acted
        if is_it and not self._after:
            self._do()
        self._real(source, target, **more)
        if is_it and self._after:
            self._do()

    def _do(self) -> None:
        self.acted = True
        self._act()


def test_a_file_that_is_written_before_it_is_replaced_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"
    Racing(monkeypatch, "rename", lambda: path.write_text("of the user\n"), after=False)
    _assert_refused(repo, old, new)
    assert path.read_text() == "of the user\n"


def test_a_file_that_another_one_replaces_before_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path, other = repo.folder / "a.txt", tmp_path / "saved"
    other.write_text("of the user\n")
    Racing(monkeypatch, "rename", lambda: os.replace(other, path), after=False)
    _assert_refused(repo, old, new)
    assert path.read_text() == "of the user\n"


def test_a_file_that_becomes_a_folder_before_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"

    def act() -> None:
        path.unlink()
        write(path, {"inner": "of the user\n"})

    Racing(monkeypatch, "rename", act, after=False)
    _assert_refused(repo, old, new)
    assert (path / "inner").read_text() == "of the user\n"


def test_what_is_written_through_an_open_file_after_it_was_replaced_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"
    with path.open("ab", buffering=0) as file:
        Racing(monkeypatch, "link", lambda: file.write(b"of the user\n"), after=True)
        _assert_refused(repo, old, new)
    assert path.read_text() == "one\nof the user\n"


def test_a_file_that_is_made_while_there_is_none_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"
    Racing(monkeypatch, "rename", lambda: path.write_text("of the user\n"), after=True)
    _assert_refused(repo, old, new)
    assert path.read_text() == "of the user\n"


def test_both_of_two_changes_at_the_same_moment_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"
    with path.open("ab", buffering=0) as file:

        def act() -> None:
            file.write(b"first\n")
            path.write_text("second\n")

        Racing(monkeypatch, "rename", act, after=True)
        assert not move(repo, old, new)
    assert path.read_text() == "second\n"
    (kept,) = (repo.folder / ".git").glob("bridle-*.old")
    kept = kept.rename(kept.with_name(kept.name.replace(f"-{os.getpid()}-", "-999999999-")))  # its process has ended
    same = kept.with_name(kept.name.replace("-0-", "-1-"))
    same.write_text("one\n")
    same.with_name(same.name.split("-1-")[0] + "-1.new").touch()
    replace_files.clear_replaced(repo.folder / ".git")
    assert [path.name for path in (repo.folder / ".git").glob("bridle-*")] == [kept.name]
    assert kept.read_text() == "one\nfirst\n"


def test_a_file_that_is_changed_when_it_was_replaced_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"
    Racing(monkeypatch, "link", lambda: path.write_text("of user\n"), after=True)
    assert move(repo, old, new)
    assert path.read_text() == "of user\n"
    assert git(repo.folder, "diff-files", "--name-only").split() == ["a.txt"]


def test_a_file_system_without_links_or_space_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    before = _bytes_of(repo.folder)

    def fail(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    for place, name in ((os, "link"), (disk, "write_all")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, fail)
            assert not move(repo, old, new)
        assert _bytes_of(repo.folder) == before
    assert move(repo, old, new)


def test_a_file_that_is_made_where_there_are_no_links_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    path = repo.folder / "a.txt"

    def fail(*_: object, **__: object) -> None:
        path.write_text("of the user\n")
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", fail)
    assert not move(repo, old, new)
    assert path.read_text() == "of the user\n"


def test_git_still_compares_the_files_that_it_had_to_compare_before(tmp_path: Path) -> None:
    """An index that is newer than a file hides its change: the time of the index stays."""
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    index, past = repo.folder / ".git/index", (1_700_000_000, 1_700_000_000)
    for name in BEFORE:
        os.utime(repo.folder / name, past, follow_symlinks=False)
    git(repo.folder, "update-index", "--refresh")
    os.utime(index, past)
    write(repo.folder, {"same": "sane\n"})
    os.utime(repo.folder / "same", past)
    assert move(repo, old, new)
    assert git(repo.folder, "-c", "core.trustctime=false", "diff-files", "--name-only").split() == ["same"]


def test_an_index_with_marks_or_one_that_was_changed_since_is_left_to_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = make(tmp_path / "r", BEFORE, AFTER)
    index = repo.folder / ".git/index"
    git(repo.folder, "update-index", "--assume-unchanged", "same")
    git(repo.folder, "write-tree")  # the index has its tree again
    before = index.read_bytes()
    assert not move(repo, old, new)
    assert index.read_bytes() == before
    git(repo.folder, "update-index", "--no-assume-unchanged", "same")
    git(repo.folder, "write-tree")

    def stage(found: Index, changes: Iterable[Change]) -> bool:
        write(repo.folder, {"staged": "of the user\n"})
        git(repo.folder, "add", "staged")
        return real(found, changes)

    real = move_files._are_in
    monkeypatch.setattr(move_files, "_are_in", stage)
    assert not move(repo, old, new)
    assert git(repo.folder, "ls-files", "staged").split() == ["staged"]


def _assert_refused(repo: Git, old: str, new: str) -> None:
    """Assert that git would refuse too, and that nothing is left in the git folder."""
    index = (repo.folder / ".git/index").read_bytes()
    assert not move(repo, old, new)
    assert (repo.folder / ".git/index").read_bytes() == index
    assert [path.name for path in (repo.folder / ".git").iterdir() if path.name.startswith(("bridle", "index."))] == []
    with pytest.raises(GitError):
        asyncio.run(move_files.move_files(repo, old, new))
