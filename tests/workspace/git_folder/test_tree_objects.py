"""What differs between two trees, and a merge of both, are what git says; what is not certain is left to git."""

from __future__ import annotations

import random
import shutil
import zlib
from pathlib import Path

import pytest

from bridle.workspace.git_folder import tree_objects
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.tree_objects import KnownTrees, Trees
from tests.workspace.fixtures.repositories import git, write

# Changes are frequent, so that both sides often meet in one folder, and sometimes in one file.
NAMES = ("a", "b.txt", "b", "c/d", "c/e", "c/f/g", "c.txt", "h/i", "h/i.txt", "j k", "ü")
SEEDS = range(24)


def _commit(folder: Path, files: dict[str, str], *parents: str) -> str:
    """Commit exactly these files, without touching a branch."""
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write(folder, dict(files))
    git(folder, "add", "-A")
    tree = git(folder, "write-tree").strip()
    return git(folder, "commit-tree", tree, *(word for one in parents for word in ("-p", one)), "-m", "x").strip()


def _repository(folder: Path, form: str = "sha1") -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", f"--object-format={form}")
    return folder


def _some_files(chance: random.Random) -> dict[str, str]:
    files: dict[str, str] = {}
    for name in chance.sample(NAMES, chance.randint(1, len(NAMES))):
        if not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in files):
            files[name] = f"{chance.randint(1, 9)}\n" * 9
    return files


def _changed(chance: random.Random, files: dict[str, str]) -> dict[str, str]:
    """Return the files after some of them were changed, deleted, renamed or replaced by a folder."""
    files = dict(files)
    for name in chance.sample(sorted(files), min(len(files), chance.randint(0, 2))):
        content = files.pop(name)
        match chance.randint(0, 3):
            case 0:
                files[name] = content + "more\n"
            case 1:
                files[f"{chance.choice('xyz')}-{name}"] = content
            case 2:
                files[f"{name}/below"] = content
    return files | {chance.choice(("new", "c/new", "n/new")): "n\n" for _ in range(chance.randint(0, 1))}


def _raw_diff(folder: Path, before: str, after: str) -> list[str]:
    return git(folder, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after).split("\0")[:-1]


def _as_raw(found: list[tree_objects.Difference], id_length: int) -> list[str]:
    lines = []
    for path, before, after in found:
        sides = [side or tree_objects.Entry(b"000000", "0" * id_length) for side in (before, after)]
        kind = "A" if before is None else "D" if after is None else "T" if _kind(before) != _kind(after) else "M"
        lines += [f":{sides[0].mode.decode()} {sides[1].mode.decode()} {sides[0].object} {sides[1].object} {kind}"]
        lines += [path.decode()]
    return lines


def _kind(entry: tree_objects.Entry) -> bytes:
    return entry.mode[:3]


@pytest.mark.parametrize("seed", SEEDS)
def test_differences_and_merges_are_those_of_git(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # not a secret
    folder = _repository(tmp_path / "r", chance.choice(("sha1", "sha256")))
    files = _some_files(chance)
    base = _commit(folder, files)
    ours, theirs = (_commit(folder, _changed(chance, files), base) for _ in range(2))
    trees = Trees(folder, KnownTrees())
    for before, after in ((base, ours), (ours, theirs), (theirs, base)):
        found = list(trees.differences(trees.root_of(before), trees.root_of(after)))
        assert sorted(_as_raw(found, len(base))) == sorted(_raw_diff(folder, before, after))
    try:
        merged = trees.merge(*(trees.root_of(commit) for commit in (base, ours, theirs)))
    except NeedsGit:
        return
    wanted = git(folder, "merge-tree", "--write-tree", ours, theirs).strip()  # fails where they conflict
    assert merged == wanted or (merged, git(folder, "ls-tree", wanted)) == ("", "")
    assert git(folder, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_changes_of_different_files_are_merged_in_most_cases(tmp_path: Path) -> None:
    folder = _repository(tmp_path / "r")
    gone = {"e/one": "1", "e/two": "2"}
    base = _commit(folder, {"a": "1", "c/d": "2", "c/e": "3", "c.txt": "4", **gone})
    ours = _commit(folder, {"a": "2", "c/d": "2", "c/new": "4", "c.txt": "4", "n/x": "5", "e/one": "1"}, base)
    theirs = _commit(folder, {"a": "1", "c/d": "changed", "c/e": "3", "c.txt": "5", "n/y": "6", "e/two": "2"}, base)
    trees = Trees(folder, KnownTrees())
    merged = trees.merge(*(trees.root_of(commit) for commit in (base, ours, theirs)))
    assert merged == git(folder, "merge-tree", "--write-tree", ours, theirs).strip()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"a": "ours", "x/b": "1"}, {"a": "theirs", "x/b": "1"}),
        ({"a": "1"}, {"a": "1", "x/b": "1", "x/new": "1"}),
        ({"a": "1", "y/b": "1"}, {"a": "1", "x/b": "1", "x/new": "1"}),
        ({"p": "1", "x/b": "1"}, {"q": "1", "x/b": "1"}),
        ({"a": "1", "x/b": "1", "n": "ours"}, {"a": "1", "x/b": "1", "n/n": "theirs"}),
    ],
    ids=["one file", "a folder removed", "a folder renamed", "one file renamed twice", "a file and a folder"],
)
def test_what_both_sides_changed_is_left_to_git(tmp_path: Path, ours: dict[str, str], theirs: dict[str, str]) -> None:
    folder = _repository(tmp_path / "r")
    base = _commit(folder, {"a": "1", "x/b": "1"})
    sides = [_commit(folder, side, base) for side in (ours, theirs)]
    trees = Trees(folder, KnownTrees())
    with pytest.raises(NeedsGit):
        trees.merge(*(trees.root_of(commit) for commit in (base, *sides)))


def test_a_tree_with_other_content_than_its_id_says_is_not_believed(tmp_path: Path) -> None:
    folder = _repository(tmp_path / "r")
    one, two = (git(folder, "rev-parse", f"{_commit(folder, {'a': text})}^{{tree}}").strip() for text in "12")
    place = folder / ".git/objects" / two[:2] / two[2:]
    place.chmod(0o644)
    place.write_bytes((folder / ".git/objects" / one[:2] / one[2:]).read_bytes())
    with pytest.raises(NeedsGit):
        list(Trees(folder, KnownTrees()).differences(one, two))
    place.write_bytes(zlib.compress(b"tree 3\0abc"))
    with pytest.raises(NeedsGit):
        list(Trees(folder, KnownTrees()).differences(one, two))


def test_packed_trees_are_left_to_git_unless_they_were_read_before(tmp_path: Path) -> None:
    folder = _repository(tmp_path / "r")
    commits = [_commit(folder, {"a": text}) for text in "12"]
    known = KnownTrees()
    trees = Trees(folder, known)
    one, two = (trees.root_of(commit) for commit in commits)
    assert len(list(trees.differences(one, two))) == 1
    for number, commit in enumerate(commits):
        git(folder, "update-ref", f"refs/heads/side-{number}", commit)
    git(folder, "gc", "-q", "--prune=now")
    with pytest.raises(NeedsGit):
        list(Trees(folder, KnownTrees()).differences(one, two))
    assert [found.path for found in Trees(folder, known).differences(one, two)] == [b"a"]


def test_known_trees_take_a_limited_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_objects, "_KNOWN_LIMIT_BYTES", 10)
    known = KnownTrees()
    for name in "abc":
        known.add(name, b"1234")
    assert [name for name in "abc" if known.get(name) is not None] == ["c"]


def test_so_many_trees_that_git_is_faster_are_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _repository(tmp_path / "r")
    one, two = (_commit(folder, {f"{name}/x": text for name in "abcd"}) for text in "12")
    monkeypatch.setattr(tree_objects, "_MOST_TREES", 9)
    trees = Trees(folder, KnownTrees())
    with pytest.raises(NeedsGit):
        list(trees.differences(trees.root_of(one), trees.root_of(two)))
