"""Every sample run folder is read right, listed, shown, and posted to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.journal.format import codec
from bridle.journal.format.documents import RunMetadata
from bridle.journal.format.entries import Result
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.state_file import snapshot
from tests.journal.fixtures.entry_steps import ok
from tests.journal.fixtures.recorded_samples import FOLDER, NAMES, contents, sample

EXPECTED = {
    "run-breakpoint": ("waiting", 2, {"deploy-gate": "requested"}, {"breakpoint": 1}),
    "run-completed": ("completed", 6, {"first-add": "resolved_ok", "Review sum": "resolved_ok"}, {}),
    "run-failed": ("failed", 5, {"flaky step": "resolved_error"}, {}),
    "run-parallel": (
        "waiting",
        12,
        {
            "build:api": "resolved_ok",
            "build:web": "resolved_ok",
            "build:cli": "resolved_ok",
            "Join": "resolved_ok",
            "orch": "resolved_ok",
            "sleep:2099-01-01T00:00:00.000Z": "requested",
        },
        {"sleep": 1},
    ),
}
RESULTS = {
    "run-breakpoint": [],
    "run-completed": [Result("ok", {"sum": 5}, None), Result("ok", {"ok": True}, None)],
    "run-failed": [Result("error", None, {"name": "ExitError", "message": "exit 1", "data": {"code": 1}})],
    "run-parallel": [
        Result("ok", {"built": "web"}, None),
        Result("ok", {"built": "api"}, None),
        Result("ok", {"built": "cli"}, None),
        Result("ok", "joined", None),
        Result("ok", None, None),
    ],
}


def test_every_sample_has_its_expectation() -> None:
    assert sorted(EXPECTED) == sorted(RESULTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_right_and_left_as_it_was(name: str, tmp_path: Path) -> None:
    run = sample(name, tmp_path)
    before = contents(run)
    store = FileReader(run)
    state, position = store.state(), store.position()
    found = {effect.label: effect.status for effect in state.effects.values()}
    assert (position.state, position.seq, found, position.pending_by_kind()) == EXPECTED[name]
    assert [store.result(effect) for effect in state.resolved] == RESULTS[name]
    assert (store.metadata().run_id, state.created is not None) == (name, True)
    for effect in state.effects.values():
        assert store.task(effect).document["invocationKey"] == effect.key
    assert contents(run) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_pending_effect_of_a_sample_takes_a_result(name: str, tmp_path: Path) -> None:
    run = sample(name, tmp_path)
    before, store = contents(run), FileStore(run)
    with store.write("test") as writer:
        for effect_id in list(writer.position.pending):
            writer.resolve(effect_id, ok({"approved": True}))
    after = FileReader(run).state()
    assert after.pending == []
    assert after.position.seq == EXPECTED[name][1] + sum(EXPECTED[name][3].values())
    kept = {path: text for path, text in contents(run).items() if path in before and not path.startswith("state/")}
    assert kept == {path: text for path, text in before.items() if not path.startswith("state/")}


@pytest.mark.parametrize("name", NAMES)
def test_our_snapshot_says_what_theirs_says(name: str) -> None:
    theirs = json.loads((FOLDER / name / "state" / "state.json").read_text(encoding="utf-8"))
    state = FileReader(FOLDER / name).state()
    ours = snapshot(state, theirs["savedAt"], theirs["rebuildReason"])
    assert list(ours) == list(theirs)
    if theirs["journalHead"]["seq"] == state.position.seq:
        assert codec.pretty(ours) == (FOLDER / name / "state" / "state.json").read_bytes()
    else:  # the other implementation does not write it after its last iteration
        assert theirs["effectsByInvocation"].items() <= json.loads(codec.pretty(ours))["effectsByInvocation"].items()


def test_at_least_one_snapshot_is_compared_byte_by_byte() -> None:
    current = [
        name
        for name in NAMES
        if json.loads((FOLDER / name / "state" / "state.json").read_text(encoding="utf-8"))["journalHead"]["seq"]
        == EXPECTED[name][1]
    ]
    assert current == ["run-completed", "run-failed"]


def test_inputs_and_output_of_a_sample_are_read() -> None:
    store = FileReader(FOLDER / "run-completed")
    assert store.inputs(store.state().created) == {"a": 2, "b": 3}
    assert store.output(store.state().ended) == {"sum": 5, "ok": True, "note": "héllo ✓"}
    assert FileReader(FOLDER / "run-failed").inputs(None) is None


def test_a_run_has_the_proof_it_was_given_or_the_one_that_its_id_gives() -> None:
    assert FileReader(FOLDER / "run-completed").metadata().completion_proof == "1e813e8e2fd23cba43cb37a6689250da"
    derived = RunMetadata({"runId": "my-run"}).completion_proof
    assert derived == "253e76866ef896111f3dfb62cbbb774130e0cf30f1541079a8cde6a5715ec50d"
    assert derived == RunMetadata({"runId": "my-run", "completionProof": ""}).completion_proof
