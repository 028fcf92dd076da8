"""The files that differ between two trees are listed with their texts, whatever their names and bytes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.protection import tree_changes
from bridle.loop.protection.tree_changes import Change, changes_since, texts_of
from tests.loop.fixtures.repositories import Repository, make_repository


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    repository = make_repository(tmp_path / "r", {"a": "1\n", "b": "2\n", "c d\n": "3\n", "e": "4\n"})
    repository.write({"a": "1\nmore\n", "c d\n": "changed", "ü\t": b"\xff\x00", "e": "4\n"})
    (repository.folder / "b").unlink()
    (repository.folder / "e").chmod(0o755)
    repository.commit()
    return repository


def changes(here: Repository, *leave: str) -> dict[str, Change]:
    before, after = here.git("rev-parse", "HEAD~1").strip(), here.git("rev-parse", "HEAD").strip()
    listed = asyncio.run(changes_since(here.context, before, after, leave=leave))
    return {change.path: change for change in listed}


def test_new_changed_deleted_and_executable_files_are_listed(here: Repository) -> None:
    listed = changes(here)
    assert sorted(listed) == ["a", "b", "c d\n", "e", "ü\t"]
    assert [path for path, change in listed.items() if change.is_gone] == ["b"]
    assert [path for path, change in listed.items() if change.is_new] == ["ü\t"]
    assert listed["e"].mode == "100755"
    assert listed["e"].before == listed["e"].after


def test_some_files_can_be_left_out_and_equal_trees_have_no_changes(here: Repository) -> None:
    assert sorted(changes(here, "a", "e")) == ["b", "c d\n", "ü\t"]
    assert asyncio.run(changes_since(here.context, "HEAD", "HEAD", leave=())) == []


@pytest.mark.parametrize("batch_bytes", [tree_changes.BATCH_BYTES, 4, 0])
def test_texts_are_read_in_batches_of_any_size(
    here: Repository, batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_changes, "BATCH_BYTES", batch_bytes)
    listed = changes(here)
    objects = {name for change in listed.values() for name in (change.before, change.after)}
    texts = asyncio.run(texts_of(here.context, objects))
    assert texts[listed["a"].after] == "1\nmore\n"
    assert texts[listed["b"].before] == "2\n"
    assert texts[listed["c d\n"].after] == "changed"
    assert texts[listed["ü\t"].after] == "\ufffd\x00"
    assert len(texts) == len(objects) - 1  # the one that stands for a missing file has no text


def test_large_files_and_folders_have_no_text(here: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_changes, "FILE_BYTES", 3)
    listed = changes(here)
    tree = here.git("rev-parse", "HEAD^{tree}").strip()
    texts = asyncio.run(texts_of(here.context, [listed["a"].after, listed["a"].before, tree]))
    assert texts == {listed["a"].before: "1\n"}
    assert asyncio.run(texts_of(here.context, [])) == {}
