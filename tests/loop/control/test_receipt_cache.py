"""A cached receipt is the one that a replay of the same journal gives, and counts for no other journal."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import layout
from bridle.loop import effect_results, effects, user_messages
from bridle.loop.control import receipt_cache
from bridle.loop.control.current_state import read_cached_receipt, read_receipt
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import Verdict
from tests.loop.fixtures.run_on_engine import GREEN, RED, RunOnEngine

PLAN = "# T\n\n## One\nCheck: `true`\n\n## Two\nCheck: `true`\n"
HOME = "home"


def cached(run: RunOnEngine, tmp_path: Path) -> Receipt:
    """Return the receipt that `bridle status` shows."""
    return read_cached_receipt(run.folder, {"BRIDLE_HOME": str(tmp_path / HOME)})


def cache_file(run: RunOnEngine, tmp_path: Path) -> Path:
    return tmp_path / HOME / receipt_cache.FOLDER / run.folder.name


def content(run: RunOnEngine, tmp_path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(cache_file(run, tmp_path).read_bytes())
    return document


def test_it_is_the_receipt_of_a_replay_in_each_state(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    steps: list[Callable[[], None]] = [
        lambda: run.post_checks(RED),
        run.work,
        lambda: run.post(
            effects.PROTECT, {"changed": True, "undone": [{"path": "é\n", "what": "changed"}], "reported": []}
        ),
        lambda: run.post_checks(RED),
        lambda: run.work(denials=["rm -rf /"]),
        lambda: run.finish_iteration(GREEN),
        lambda: run.post_checks(RED),
        lambda: run.work(effect_results.QUESTION, question="which?", cost_usd=None),
        lambda: run.post(effects.PROTECT, {"changed": False, "undone": [], "reported": []}),
        lambda: user_messages.send(run.store, user_messages.HINT, {"text": "this one"}),
        lambda: user_messages.send(run.store, user_messages.LIMITS, {"max_cost_usd": 7}),
    ]
    verdicts = []
    for step in steps:
        step()
        run.pending()  # the process asks for its next effects
        known, first, second = read_receipt(run.folder), cached(run, tmp_path), cached(run, tmp_path)
        assert repr(known) == repr(first) == repr(second)
        assert known.journal is not None
        assert content(run, tmp_path)["sequence"] == known.journal.sequence
        verdicts.append(known.verdict)
    assert Verdict.NEEDS_YOU in verdicts


def with_fields(**fields: Any) -> Callable[[bytes], bytes]:
    """Return a change to the file: a finished receipt of another journal or version."""
    return lambda data: json.dumps(forged(data) | fields).encode()


def forged(data: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(data)
    document["receipt"] |= {"verdict": "done", "tasks": []}
    return document


@pytest.mark.parametrize(
    "change",
    [
        with_fields(head="0" * 64),
        with_fields(sequence=1),
        with_fields(wording=1),
        with_fields(version="0.0.1"),
        with_fields(fields=["run"]),
        with_fields(receipt=None),
        lambda data: data[: len(data) // 2],
        lambda _data: b"",
    ],
    ids=[
        "another head",
        "another entry",
        "another wording",
        "another version",
        "other fields",
        "no receipt",
        "torn",
        "empty",
    ],
)
def test_a_file_of_another_journal_or_version_does_not_count(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.pending()
    before = cached(run, tmp_path)
    path = cache_file(run, tmp_path)
    good = path.read_bytes()
    path.write_bytes(change(good))
    assert cached(run, tmp_path) == before
    assert path.read_bytes() == good  # written again


def test_only_a_display_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDLE_HOME", str(tmp_path / HOME))
    run = RunOnEngine(tmp_path, PLAN)
    run.pending()
    cached(run, tmp_path)
    path = cache_file(run, tmp_path)
    path.write_text(json.dumps(forged(path.read_bytes())))
    assert cached(run, tmp_path).verdict == Verdict.DONE  # a forgery of the user's own home would be shown
    assert read_receipt(run.folder).verdict == Verdict.PENDING


def test_a_changed_result_is_found_with_it_too(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.post_checks(RED)
    run.work()
    run.pending()
    cached(run, tmp_path)
    results = (run.folder / layout.TASKS).glob(f"*/{layout.RESULT_FILE}")
    changed = next(path for path in results if b"0.25" in path.read_bytes())
    changed.write_bytes(changed.read_bytes().replace(b"0.25", b"0.00"))
    with pytest.raises(JournalBroken, match=r"changed|digest"):
        read_receipt(run.folder)
    with pytest.raises(JournalBroken, match=r"changed|digest"):
        cached(run, tmp_path)


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.pending()
    (tmp_path / HOME).mkdir()
    (tmp_path / HOME / receipt_cache.FOLDER).write_text("a file")
    assert cached(run, tmp_path) == read_receipt(run.folder)


def test_a_run_without_a_chain_has_none(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.pending()
    os.unlink(run.folder / layout.CHAIN_FILE)
    assert cached(run, tmp_path) == read_receipt(run.folder)
    assert not cache_file(run, tmp_path).exists()
