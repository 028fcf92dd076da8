"""The chain grows with the journal; what a crash loses of it is computed again, and marked."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.journal.format import codec, layout
from bridle.journal.format.chain import Chain, repair_line
from bridle.journal.stores.chain_file import head_at, newest_head, read_chain
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep.repair import carry_out, plan_repair
from tests.journal.fixtures.chained_runs import append, chain_of, computed_heads, make_run
from tests.journal.fixtures.entry_steps import MOMENT


def later_entries(run: Path) -> list[int]:
    """The entries whose links were added later; all heads are those of the entries."""
    links = chain_of(run).links
    assert [link.head for link in links] == computed_heads(run)
    return [link.seq for link in links if link.is_later]


def test_each_entry_extends_the_chain_in_one_writer_and_in_the_next(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert later_entries(run) == []
    append(run, 2)
    assert later_entries(run) == []
    path = run / layout.CHAIN_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert newest_head(run) == (6, computed_heads(run)[-1])
    assert head_at(run, 2) == computed_heads(run)[1]


def test_links_that_a_crash_has_lost_are_added_and_marked(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    path, lines = run / layout.CHAIN_FILE, (run / layout.CHAIN_FILE).read_bytes().splitlines(keepends=True)
    for left, missing in (
        (b"".join(lines[:2]), [3, 4]),
        (b"".join(lines[:3]) + lines[3][:20], [4]),  # torn
        (b"".join(lines[:3]) + bytes(100), [4]),  # as after a power cut
    ):
        path.write_bytes(left)
        assert newest_head(run) == (4, computed_heads(run)[3]), "known before the links are added"
        append(run)
        assert later_entries(run) == missing
        assert chain_of(run).invalid_lines == []
        os.unlink(max((run / layout.JOURNAL).iterdir()))
        (run / layout.STATE / layout.PACK_FILE).unlink()


def test_an_entry_of_another_program_is_added_by_the_next_writer(tmp_path: Path) -> None:
    run = make_run(tmp_path, entries=2)
    text = codec.encode("STOP_HOOK_INVOKED", MOMENT, {})
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_NOTE", {})
        (run / layout.JOURNAL / f"000004.{writer.new_id()}.json").write_bytes(text)
        writer.append("BRIDLE_NOTE", {})
    assert later_entries(run) == [4]


def test_links_of_entries_that_another_program_has_replaced_are_not_continued(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for removed in sorted((run / layout.JOURNAL).iterdir())[2:]:
        removed.unlink()
    (run / layout.STATE / layout.PACK_FILE).unlink()
    with FileStore(run).write("test") as writer:
        name = f"000003.{writer.new_id()}.json"
    (run / layout.JOURNAL / name).write_bytes(codec.encode("STOP_HOOK_INVOKED", MOMENT, {}))
    append(run)
    assert later_entries(run) == [3]


def test_removed_entries_stay_in_the_chain(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    removed = max((run / layout.JOURNAL).iterdir())
    removed.unlink()
    (run / layout.STATE / layout.PACK_FILE).unlink()
    append(run)
    assert later_entries(run) == []
    assert [f"{link.seq:06d}.{link.ulid}.json" for link in chain_of(run).removed] == [removed.name]


def test_a_repair_is_in_the_chain(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    broken = sorted((run / layout.JOURNAL).iterdir())[2]
    broken.write_bytes(broken.read_bytes()[:-5])
    (run / layout.STATE / layout.PACK_FILE).unlink()
    with (run / layout.CHAIN_FILE).open("ab") as chain:
        chain.write(b"5 torn")
    carry_out(run, plan_repair(run))
    append(run)
    assert later_entries(run) == [3]
    assert (chain_of(run).removed, chain_of(run).invalid_lines) == ([], [])


def test_a_repair_that_kept_more_entries_than_there_were_is_an_invalid_line(tmp_path: Path) -> None:
    text = (make_run(tmp_path) / layout.CHAIN_FILE).read_bytes()
    assert Chain(text + repair_line(4)).invalid_lines == []
    assert Chain(text + repair_line(5)).invalid_lines == [5]


def test_a_run_without_a_chain_never_gets_one(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.CHAIN_FILE).unlink()
    append(run)
    assert read_chain(run) is None
    assert (head_at(run, 1), newest_head(run)) == (None, None)


def test_a_chain_that_is_read_again_is_the_same_as_one_that_is_read_at_once(tmp_path: Path) -> None:
    run, other = make_run(tmp_path / "run"), make_run(tmp_path / "other")
    path = run / layout.CHAIN_FILE
    for change in range(4):
        append(run, 1)
        newest = computed_heads(run)
        assert [head_at(run, number) for number in range(1, len(newest) + 1)] == newest
        assert head_at(other, 1) == computed_heads(other)[0]
        if change == 1:
            path.write_bytes(path.read_bytes()[:-20])  # torn: the last link is computed
        if change == 2:
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines[:2]))  # shorter than before


def test_a_chain_is_extended_with_what_follows(tmp_path: Path) -> None:
    text = (make_run(tmp_path) / layout.CHAIN_FILE).read_bytes()
    for whole in (text, text + repair_line(2) + b"junk\n" + text.splitlines(keepends=True)[2] + b"torn"):
        wanted = Chain(whole)
        for cut in range(len(whole)):
            start = whole[:cut].rfind(b"\n") + 1
            chain = Chain(whole[:cut])
            chain.extend(whole[start:])
            for name in ("complete_bytes", "ends_with_repair", "invalid_lines", "is_torn", "lines"):
                assert getattr(chain, name) == getattr(wanted, name), (cut, name)
            assert [link.line for link in chain.links] == [link.line for link in wanted.links]
            assert [link.line for link in chain.removed] == [link.line for link in wanted.removed]
