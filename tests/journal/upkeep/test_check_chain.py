"""An audit compares the journal with its chain: entries that were changed, exchanged, renamed or removed are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.journal.format import codec, layout
from bridle.journal.format.chain import Link, repair_line
from bridle.journal.format.entries import RUN_FAILED
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep.audit import audit
from tests.journal.fixtures.chained_runs import append, chain_of, computed_heads, make_run


def entry_files(run: Path) -> list[Path]:
    return sorted((run / layout.JOURNAL).iterdir())


def forget(run: Path) -> None:
    """Remove the pack, which an attacker removes too."""
    (run / layout.STATE / layout.PACK_FILE).unlink(missing_ok=True)
    (run / layout.STATE / layout.STATE_FILE).unlink(missing_ok=True)


def change_with_a_valid_checksum(run: Path) -> list[str]:
    path = entry_files(run)[2]
    name = codec.parse_name(path.name)
    assert name is not None
    entry = codec.decode(*name, path.read_bytes())
    path.write_bytes(codec.encode(entry.type, entry.recorded_at, {"number": 99}))
    return [f"journal/{path.name}"]


def exchange_two_entries(run: Path) -> list[str]:
    one, other = entry_files(run)[1:3]
    texts = one.read_bytes(), other.read_bytes()
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])
    return [f"journal/{one.name}", f"journal/{other.name}"]


def cut_the_tail(run: Path) -> list[str]:
    path = entry_files(run)[-1]
    path.unlink()
    return [f"journal/{path.name}"]


def cut_the_tail_and_go_on(run: Path) -> list[str]:
    [name] = cut_the_tail(run)
    forget(run)
    append(run)
    return [name]


def remove_the_chain(run: Path) -> list[str]:
    (run / layout.CHAIN_FILE).unlink()
    return [layout.CHAIN_FILE]


def empty_the_chain(run: Path) -> list[str]:
    (run / layout.CHAIN_FILE).write_bytes(b"")
    append(run)
    return [layout.CHAIN_FILE]


def empty_the_chain_of_a_run_that_nobody_continues(run: Path) -> list[str]:
    (run / layout.CHAIN_FILE).write_bytes(b"")
    change_with_a_valid_checksum(run)
    return [layout.CHAIN_FILE]


def shorten_the_chain_of_an_ended_run(run: Path) -> list[str]:
    with FileStore(run).write("test") as writer:
        writer.append(RUN_FAILED, {"error": {"message": "it failed"}})
    path = run / layout.CHAIN_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    change_with_a_valid_checksum(run)
    return [layout.CHAIN_FILE]


def empty_the_chain_by_a_repair_that_was_none(run: Path) -> list[str]:
    (run / layout.CHAIN_FILE).write_bytes(repair_line(0))
    change_with_a_valid_checksum(run)
    return [layout.CHAIN_FILE]


def shorten_the_chain_by_a_repair_that_was_none(run: Path) -> list[str]:
    path = run / layout.CHAIN_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]) + repair_line(2))
    change_with_a_valid_checksum(run)
    return [layout.CHAIN_FILE]


def change_a_link(run: Path) -> list[str]:
    path, link = run / layout.CHAIN_FILE, chain_of(run).links[2]
    path.write_bytes(path.read_bytes().replace(link.line, Link(link.seq, link.ulid, "0" * 64).line))
    return [layout.CHAIN_FILE]


def garble_a_line(run: Path) -> list[str]:
    path, link = run / layout.CHAIN_FILE, chain_of(run).links[1]
    path.write_bytes(path.read_bytes().replace(link.line, b"?\n" + link.line))
    return [layout.CHAIN_FILE]


def remove_a_line(run: Path) -> list[str]:
    path = run / layout.CHAIN_FILE
    path.write_bytes(path.read_bytes().replace(chain_of(run).links[2].line, b""))
    append(run)
    return [layout.CHAIN_FILE]


ATTACKS = [
    *(change_with_a_valid_checksum, exchange_two_entries, cut_the_tail, cut_the_tail_and_go_on),
    *(remove_the_chain, empty_the_chain, change_a_link, garble_a_line),
    *(remove_a_line, empty_the_chain_of_a_run_that_nobody_continues, shorten_the_chain_of_an_ended_run),
    *(empty_the_chain_by_a_repair_that_was_none, shorten_the_chain_by_a_repair_that_was_none),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_journal_that_does_not_fit_its_chain_is_found(attack: Callable[[Path], list[str]], tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert audit(run).wrong == []
    named = attack(run)
    forget(run)
    assert {finding.file for finding in audit(run).wrong} == set(named)


def test_the_report_has_the_heads_and_what_was_added_later(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    path = run / layout.CHAIN_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    append(run)
    report = audit(run)
    assert report.wrong == []
    assert report.chain is not None
    assert (report.chain.heads, report.chain.later) == (computed_heads(run), [(3, 4)])


def test_a_changed_byte_of_the_chain_is_found(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    path, text = run / layout.CHAIN_FILE, (run / layout.CHAIN_FILE).read_bytes()
    for offset in range(0, len(text) - 1, 7):
        path.write_bytes(text[:offset] + bytes([text[offset] ^ 1]) + text[offset + 1 :])
        assert audit(run).wrong != [], offset
    path.write_bytes(text[:-1])
    assert [finding.file for finding in audit(run).leftovers] == [layout.CHAIN_FILE]
