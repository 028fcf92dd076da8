"""The names of a journal are listed in order, and a mark on its folder reveals every change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.errors import JournalBroken, RunNotFound
from bridle.ground.light.quick_path import Path as QuickPath
from bridle.journal.format import folder_names
from bridle.journal.format.state import file_name
from tests.journal.fixtures.entry_steps import ids

ULIDS = ids(3)
NAMES = [(seq, ulid) for seq, ulid in enumerate(ULIDS, 1)]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    folder.mkdir()
    for seq, ulid in reversed(NAMES):
        (folder / file_name(seq, ulid)).touch()
    return folder


def names(journal: Path) -> list[folder_names.Name]:
    return folder_names.list_names(QuickPath(str(journal)))


def test_names_are_listed_in_order_without_temporary_files(journal: Path) -> None:
    for name in (".hidden.json", f"000004.{ULIDS[0]}.json.tmp-1-2", "notes.txt"):
        (journal / name).touch()
    assert names(journal) == NAMES


@pytest.mark.parametrize("known", range(4))
def test_new_names_follow_the_known_ones(journal: Path, known: int) -> None:
    place, crc = QuickPath(str(journal)), folder_names.names_crc(NAMES[:known])
    assert folder_names.list_new_names(place, known, crc) == NAMES[known:]
    assert folder_names.list_new_names(place, known, crc ^ 1) is None
    assert folder_names.list_new_names(place, 4, crc) is None
    for name in (b"\xff.json", b"000000.x.json", b"x.json"):
        foreign = os.path.join(os.fsencode(journal), name)
        os.close(os.open(foreign, os.O_CREAT | os.O_WRONLY))
        with pytest.raises(JournalBroken, match="its name is not that of an entry"):
            folder_names.list_new_names(place, known, crc)
        os.unlink(foreign)


def test_new_names_with_more_digits_follow_the_others(tmp_path: Path) -> None:
    names = [(999_998, ULIDS[0]), (999_999, ULIDS[1]), (1_000_000, ULIDS[2])]
    for name in names:
        (tmp_path / file_name(*name)).touch()
    for known in range(4):
        crc = folder_names.names_crc(names[:known])
        assert folder_names.list_new_names(QuickPath(str(tmp_path)), known, crc) == names[known:]


def test_a_gap_is_listed_as_it_is(journal: Path) -> None:
    (journal / file_name(*NAMES[1])).unlink()
    assert names(journal) == [NAMES[0], NAMES[2]]


@pytest.mark.parametrize("name", ["x.json", "000004.json", "000004.short.json", "4.json", "000000.x.json"])
def test_a_foreign_file_is_refused_and_named(journal: Path, name: str) -> None:
    (journal / name).touch()
    with pytest.raises(JournalBroken, match=name):
        names(journal)


def test_a_journal_that_is_missing_or_not_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound):
        names(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(JournalBroken, match="could not list"):
        names(tmp_path / "file")


def test_all_claims_are_listed_by_number_valid_or_not(journal: Path) -> None:
    for name in ("000002.json", "x.json", "10.y.json"):
        (journal / name).touch()
    first, second, third = (file_name(*name) for name in NAMES)
    assert folder_names.list_file_names(QuickPath(str(journal))) == [
        "x.json",
        first,
        *sorted([second, "000002.json"]),
        third,
        "10.y.json",
    ]


def test_a_checksum_of_names_can_be_continued() -> None:
    whole = folder_names.names_crc(NAMES)
    assert folder_names.names_crc(NAMES[1:], folder_names.names_crc(NAMES[:1])) == whole
    assert folder_names.names_crc(list(reversed(NAMES))) != whole


def test_a_mark_changes_with_every_name_and_not_with_a_files_content(journal: Path) -> None:
    place = QuickPath(str(journal))
    mark = folder_names.set_mark(place, b"\x01\x02\x03")
    assert mark is not None
    (journal / file_name(*NAMES[0])).write_text("{}")
    assert folder_names.mark_of(place) == mark
    (journal / "new").touch()
    assert folder_names.mark_of(place) != mark
    again = folder_names.set_mark(place, b"\x01\x02\x03")
    (journal / "new").unlink()
    assert folder_names.mark_of(place) not in (mark, again)


def test_a_folder_that_was_replaced_has_another_mark(journal: Path) -> None:
    place = QuickPath(str(journal))
    mark = folder_names.set_mark(place, b"\x05")
    assert mark is not None
    journal.rename(journal.with_name("old"))
    journal.mkdir()
    os.utime(journal, ns=(mark[1], mark[1]))
    assert folder_names.mark_of(place) != mark


def test_a_missing_folder_has_no_mark(tmp_path: Path) -> None:
    place = QuickPath(str(tmp_path / "missing"))
    assert folder_names.mark_of(place) is None
    assert folder_names.set_mark(place, b"\x01") is None


def test_only_an_old_mark_is_settled(journal: Path) -> None:
    place = QuickPath(str(journal))
    fresh = folder_names.set_mark(place, b"\x01")
    assert fresh is not None
    old = (fresh[0], fresh[1] - 10 * folder_names.SETTLED_NANOSECONDS)
    assert folder_names.is_settled(old)
    assert not folder_names.is_settled((fresh[0], fresh[1] + 10 * folder_names.SETTLED_NANOSECONDS))
