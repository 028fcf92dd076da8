"""A folder is listed again if, and only if, its entries may have changed."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bridle.ground.files import known_folders
from bridle.ground.files.known_folders import KnownFolders


class Lister:
    """Lists folders, and counts how often."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, folder: str) -> list[str]:
        self.calls.append(folder)
        return sorted(os.listdir(folder))


@pytest.fixture
def lister() -> Lister:
    return Lister()


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every folder has not changed for long enough."""
    for name in ("SETTLED_NANOSECONDS", "SETTLED_FINE_NANOSECONDS"):
        monkeypatch.setattr(known_folders, name, -(10**12))


def look(known: KnownFolders[list[str]], folder: Path) -> list[str]:
    found = known.content(str(folder))
    known.end()
    return found


@pytest.mark.usefixtures("settled")
def test_a_folder_without_changes_is_listed_once(tmp_path: Path, lister: Lister) -> None:
    known = KnownFolders(lister)
    (tmp_path / "a").touch()
    assert look(known, tmp_path) == look(known, tmp_path) == ["a"]
    assert len(lister.calls) == 1


@pytest.mark.usefixtures("settled")
def test_an_added_an_exchanged_and_a_removed_entry_are_seen(tmp_path: Path, lister: Lister) -> None:
    known = KnownFolders(lister)
    assert look(known, tmp_path) == []
    before = tmp_path.stat()
    (tmp_path / "a").touch()
    os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))  # an agent can set the mtime back
    assert look(known, tmp_path) == ["a"]
    (tmp_path / "a").rename(tmp_path / "b")
    assert look(known, tmp_path) == ["b"]
    (tmp_path / "b").unlink()
    assert look(known, tmp_path) == []


@pytest.mark.usefixtures("settled")
def test_another_folder_at_the_same_place_is_listed(tmp_path: Path, lister: Lister) -> None:
    known = KnownFolders(lister)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "file").touch()
    assert look(known, tmp_path / "one") == []
    (tmp_path / "one").rmdir()
    (tmp_path / "two").rename(tmp_path / "one")
    assert look(known, tmp_path / "one") == ["file"]


@pytest.mark.parametrize(
    ("ctime", "age", "listed"),
    [
        (1_700_000_000_123_456_789, 90_000_000, 2),  # the clock of the kernel may not have moved since
        (1_700_000_000_123_456_789, 110_000_000, 1),
        (1_700_000_000_000_000_000, 110_000_000, 2),  # a file system that stores seconds
        (1_700_000_000_123_000_000, 1_900_000_000, 2),  # or some other coarse unit
        (1_700_000_000_000_000_000, 2_100_000_000, 1),
    ],
)
def test_how_long_a_change_must_be_over_depends_on_the_unit_of_the_time_stamps(
    monkeypatch: pytest.MonkeyPatch, lister: Lister, tmp_path: Path, ctime: int, age: int, listed: int
) -> None:
    facts = tmp_path.stat()
    values = {name: getattr(facts, name) for name in ("st_dev", "st_ino", "st_mtime_ns")}
    monkeypatch.setattr("os.stat", lambda _: SimpleNamespace(**values, st_ctime_ns=ctime))
    monkeypatch.setattr("time.time_ns", lambda: ctime + age)
    known = KnownFolders(lister)
    assert look(known, tmp_path) == look(known, tmp_path)
    assert len(lister.calls) == listed


def test_a_folder_that_has_just_changed_is_listed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lister: Lister
) -> None:
    for name in ("SETTLED_NANOSECONDS", "SETTLED_FINE_NANOSECONDS"):
        monkeypatch.setattr(known_folders, name, 10**12)
    known = KnownFolders(lister)
    look(known, tmp_path)
    look(known, tmp_path)
    assert len(lister.calls) == 2


@pytest.mark.usefixtures("settled")
def test_a_folder_that_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    failures = [OSError(24, "too many open files")]

    def read(folder: str) -> list[str]:
        if failures:
            raise failures.pop()
        return os.listdir(folder)

    known = KnownFolders(read)
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match="too many"):
        look(known, tmp_path)
    known.end()
    assert look(known, tmp_path) == ["a"]


@pytest.mark.usefixtures("settled")
def test_what_was_not_asked_for_again_is_forgotten(tmp_path: Path, lister: Lister) -> None:
    known = KnownFolders(lister)
    look(known, tmp_path)
    known.end()
    look(known, tmp_path)
    assert len(lister.calls) == 2
