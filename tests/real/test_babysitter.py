"""The other implementation of the run format, at work on the same folders as Bridle."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.cli.fixtures.machine_commands import bridle, create
from tests.journal.fixtures.entry_steps import failure, make_request, ok
from tests.journal.fixtures.sample_runs import long_run
from tests.real.fixtures.babysitter import babysitter

pytestmark = pytest.mark.real


def answer(*arguments: object, home: Path) -> dict[str, Any]:
    """The document that it prints."""
    done = babysitter(*arguments, "--json", home=home)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that Bridle made by its own commands and wrote everything into that a run can hold."""
    (tmp_path / "process.py").write_text("async def process(inputs, ctx):\n    return None\n", encoding="utf-8")
    (tmp_path / "in.json").write_text('{"what": "héllo ✓"}', encoding="utf-8")
    made = create(tmp_path, "--run-id", "ours", "--inputs", "in.json", "--prompt", "Build it").document
    store = FileStore(Path(made["runDir"]))
    with store.write("test") as writer:
        effects = [writer.new_id() for _ in range(6)]
        for number, (effect_id, kind) in enumerate(
            zip(effects, ["agent", "shell", "breakpoint", "node", "sleep", "agent"], strict=True), 1
        ):
            inputs = {"n": number, "large": "x" * 1_100_000} if number == 6 else {"n": number}
            writer.request(make_request(effect_id, number, kind=kind, inputs=inputs))
        writer.append("BRIDLE_CODE_CHANGED", {"from": "a", "to": "b"})
    with store.write("test") as writer:
        writer.resolve(effects[0], ok({"b": 1, "a": "é"}))
        writer.resolve(effects[1], failure("ExitError", "exit 1"))
        writer.resolve(effects[5], ok("x" * 1_100_000))
    return store.run


def test_a_run_of_ours_has_the_same_status_there(run: Path, tmp_path: Path) -> None:
    theirs = answer("run:status", run, home=tmp_path)
    ours = bridle("run:status", run, "--json").document
    assert theirs.pop("metadata")["journalHead"] == ours.pop("metadata")["journalHead"]
    assert theirs == ours
    assert theirs["state"] == "waiting"


def test_a_completed_run_of_ours_is_completed_there_with_the_same_proof(run: Path, tmp_path: Path) -> None:
    with FileStore(run).write("test") as writer:
        for effect_id in list(writer.position.pending):
            writer.resolve(effect_id, ok({"approved": True}))
        writer.append("RUN_COMPLETED", {"outputRef": writer.write_output({"done": True})})
    theirs = answer("run:status", run, home=tmp_path)
    ours = bridle("run:status", run, "--json").document
    assert (theirs["state"], theirs["completionProof"]) == ("completed", ours["completionProof"])
    assert ours["completionProof"] == FileReader(run).metadata().completion_proof


def test_the_entries_of_a_run_of_ours_are_listed_there(run: Path, tmp_path: Path) -> None:
    theirs = answer("run:events", run, home=tmp_path)
    ours = bridle("run:events", run, "--json").document
    assert theirs["events"] == ours["events"]
    assert len(theirs["events"]) == 11
    newest = answer("run:events", run, "--reverse", "--limit", 2, "--filter-type", "effect_resolved", home=tmp_path)
    same = bridle("run:events", run, "--reverse", "--limit", 2, "--filter-type", "effect_resolved", "--json").document
    assert newest["events"] == same["events"]


def test_the_effects_of_a_run_of_ours_are_listed_there(run: Path, tmp_path: Path) -> None:
    for flags in ([], ["--pending"], ["--kind", "agent"]):
        theirs = answer("task:list", run, *flags, home=tmp_path)["tasks"]
        ours = bridle("task:list", run, *flags, "--json").document["tasks"]
        assert theirs == [{key: value for key, value in task.items() if _is_told(key, value)} for task in ours]
        assert theirs


def _is_told(key: str, value: object) -> bool:
    """It leaves these fields out where it has nothing to say; we say null."""
    return value is not None or key not in ("resolvedAt", "labels", "label")


def test_its_cache_is_written_by_us_as_it_would_have_been_by_itself(run: Path, tmp_path: Path) -> None:
    def snapshot() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((run / "state" / "state.json").read_text(encoding="utf-8"))
        return found | {"savedAt": "", "rebuildReason": ""}

    ours = snapshot()
    answer("run:rebuild-state", run, home=tmp_path)
    assert snapshot() == ours
    assert list(snapshot()) == list(ours)


def test_a_result_posted_there_is_seen_here_and_the_other_way_round(run: Path, tmp_path: Path) -> None:
    first, second = list(FileReader(run).position().pending)[:2]
    value = ("--status", "ok", "--value-inline", '{"zeta": 1, "Alpha": [true, null], "beta_2": "é"}')
    times = ("--started-at", "2026-11-15T01:00:00.000Z", "--finished-at", "2026-11-15T01:00:01.000Z")
    theirs = answer("task:post", run, first, *value, *times, home=tmp_path)
    assert first not in FileReader(run).position().pending
    ours = bridle("task:post", run, second, *value, *times, "--json").document
    assert set(theirs) == set(ours)
    assert second not in [task["effectId"] for task in answer("task:list", run, "--pending", home=tmp_path)["tasks"]]
    texts = [(run / f"tasks/{effect}/result.json").read_text(encoding="utf-8") for effect in (first, second)]
    effects = FileReader(run).state().effects
    for effect_id in (first, second):
        texts = [text.replace(effect_id, "ID").replace(effects[effect_id].key, "KEY") for text in texts]
    assert texts[0] == texts[1], "both write the same bytes"
    assert [entry.seq for entry in FileReader(run).entries()] == list(range(1, 14))


def test_a_long_run_of_ours_is_accepted_there(tmp_path: Path) -> None:
    made = long_run(tmp_path, "long", resolved=150, pending=3)
    with FileStore(made.run).write("test") as writer:
        writer.resolve(next(iter(writer.position.pending)), ok(1))
    theirs = answer("run:status", made.run, home=tmp_path)
    assert (theirs["state"], theirs["pendingByKind"]) == ("waiting", {"node": 2})
    assert theirs["lastEvent"]["seq"] == FileReader(made.run).position().seq == 305


@pytest.mark.parametrize(("pack_is_kept", "entries"), [(True, 11), (False, 10)], ids=["restored", "dropped"])
def test_a_journal_that_we_repaired_is_accepted_there(
    run: Path, tmp_path: Path, pack_is_kept: bool, entries: int
) -> None:
    torn = sorted((run / "journal").iterdir())[4]
    torn.write_bytes(b"")
    if not pack_is_kept:
        shutil.rmtree(run / "state")
    assert babysitter("run:status", run, "--json", home=tmp_path).returncode == 1
    assert bridle("run:repair-journal", run, "--json").document["repaired"] is True
    theirs = answer("run:status", run, home=tmp_path)
    assert theirs["lastEvent"]["seq"] == FileReader(run).position().seq == entries
