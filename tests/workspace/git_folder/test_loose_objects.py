"""Loose objects are read and hashed; what a pack has, or may have, is left to git."""

from __future__ import annotations

import zlib
from pathlib import Path

from bridle.workspace.git_folder import loose_objects
from tests.workspace.fixtures.repositories import git, make_repository, write


def test_a_loose_tree_has_its_entries_and_a_forged_one_no_content(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    tree = git(repo.folder, "rev-parse", "HEAD^{tree}").strip()
    content = loose_objects.read(repo.folder, {tree}, loose_objects.TREE)[0][tree]
    listed = [entry.name for entry in loose_objects.entries(content, tree)]
    assert listed == [b".gitignore", b"a.txt", b"sub"]
    assert loose_objects.read(repo.folder, {tree}, loose_objects.COMMIT)[0] == {tree: None}
    path = repo.folder / ".git/objects" / tree[:2] / tree[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"tree 0\0"))
    assert loose_objects.read(repo.folder, {tree}, loose_objects.TREE) == ({tree: None}, [])


def test_packed_and_missing_objects_are_left_to_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {f"{number}.txt": f"{number}\n" for number in range(300)})
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "second")
    git(repo.folder, "gc", "-q")
    objects = str(repo.folder / ".git/objects")
    indexes = loose_objects.pack_indexes(objects)
    assert indexes is not None
    names = [line.split()[0] for line in git(repo.folder, "rev-list", "--objects", "--all").splitlines()]
    assert len(names) > 300
    assert all(any(loose_objects.may_have(index, name) for index in indexes) for name in names)
    missing = [f"{number:02x}" + "5" * 38 for number in range(256)]
    assert not any(loose_objects.may_have(index, name) for index in indexes for name in missing)
    assert loose_objects.read(repo.folder, set(names), loose_objects.TREE) == ({}, sorted(names))
    (repo.folder / ".git/objects/info/alternates").write_text(f"{tmp_path}\n")
    assert loose_objects.pack_indexes(objects) is None
