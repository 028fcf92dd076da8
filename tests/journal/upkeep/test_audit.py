"""An audit looks at every file of a run: one changed byte is found and its file named; nothing is changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from bridle.errors import JournalBroken, RunNotFound
from bridle.journal.format import codec, layout
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import Output, Posted
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep.audit import audit
from bridle.journal.upkeep.audit_report import Report
from tests.journal.fixtures.entry_steps import MOMENT, failure, ids, make_request, ok
from tests.journal.fixtures.recorded_samples import NAMES, contents, sample
from tests.sizes import SIZES


def made(folder: Path) -> Path:
    """A completed run with effects of every sort behind it."""
    new = NewRun(run_id="r", process_id="demo", entry=folder / "p.py", has_inputs=True, inputs={"a": [1, "é"]})
    run = create_run(folder / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    with FileStore(run).write("test") as writer:
        effects = [writer.new_id() for _ in range(4)]
        for number, effect_id in enumerate(effects, 1):
            writer.request(make_request(effect_id, number, inputs={"big": "x" * 1_100_000} if number == 4 else None))
        printed = Output(text="printed\n")
        writer.resolve(
            effects[0], Posted("ok", value={"n": 1.5}, started_at=MOMENT, finished_at=MOMENT, stdout=printed)
        )
        writer.resolve(effects[1], failure("ExitError", "exit 1"))
        writer.resolve(effects[2], ok("y" * 1_100_000))
        writer.resolve(effects[3], ok(None))
        writer.append("RUN_COMPLETED", {"outputRef": writer.write_output({"sum": 5})})
    return run


def audited(run: Path) -> Report:
    before = contents(run)
    report = audit(run)
    assert contents(run) == before, "an audit changes nothing"
    return report


def faults(report: Report) -> dict[str, str]:
    return {finding.file: finding.fault for finding in report.wrong}


def test_a_good_run_is_in_order(tmp_path: Path) -> None:
    report = audited(made(tmp_path))
    assert faults(report) == {}
    assert (report.entries, report.effects) == (10, 4)
    assert report.leftovers == []


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_the_other_implementation_are_audited_too(name: str, tmp_path: Path) -> None:
    run = sample(name, tmp_path)
    assert faults(audited(run)) == {}
    entry = sorted((run / "journal").iterdir())[1]
    entry.write_bytes(entry.read_bytes().replace(b'"recordedAt": "20', b'"recordedAt": "21'))
    assert next(iter(faults(audited(run)))) == f"journal/{entry.name}"


def test_one_changed_byte_anywhere_is_found_and_its_file_is_named(tmp_path: Path) -> None:
    run = made(tmp_path)
    chance = Random(2026)  # noqa: S311  # the same bytes each time
    truth = [name for name in contents(run) if name != ".gitignore" and not name.startswith("state/state.json")]
    others = ("bridle.lock", "bridle.chain", "state/bridle.pack")
    truth = [name for name in truth if name not in others and not name.endswith(".log")]
    assert len(truth) == 1 + 1 + 10 + 4 + 4 + 2 + 1
    tried = 0
    for name in truth:
        path = run / name
        data = path.read_bytes()
        for offset in {
            0,
            len(data) - 1,
            *(chance.randrange(len(data)) for _ in range(SIZES.changed_bytes_in_each_file)),
        }:
            path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
            found = faults(audit(run))
            assert name in found, f"{name} at {offset}: {data[max(0, offset - 20) : offset + 20]!r}"
            tried += 1
        path.write_bytes(data)
    assert tried >= 3 * len(truth)
    assert faults(audited(run)) == {}


@pytest.mark.parametrize("name", ["run.json", "inputs.json", "state/output.json"])
def test_a_missing_document_is_named(tmp_path: Path, name: str) -> None:
    run = made(tmp_path)
    (run / name).unlink()
    if name == "run.json":
        with pytest.raises(RunNotFound):
            audit(run)
    else:
        assert name in faults(audited(run))


@pytest.mark.parametrize("kind", ["task.json", "result.json", "blobs", "stdout.log"])
def test_a_missing_file_of_an_effect_is_named(tmp_path: Path, kind: str) -> None:
    run = made(tmp_path)
    path = next(path for path in sorted((run / "tasks").rglob("*")) if path.is_file() and kind in str(path))
    path.unlink()
    assert str(path.relative_to(run)) in faults(audited(run))


def test_gaps_and_ids_that_fall_are_named_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    run = made(tmp_path)
    journal = run / "journal"
    first, second, third, *_ = sorted(journal.iterdir())
    second.unlink()
    falls = third.rename(journal / f"000003.{ids(1)[0]}.json")
    (journal / "notes.json").write_text("{}")
    report = audited(run)
    told = [(finding.file, finding.fault) for finding in report.wrong]
    assert told[0] == ("journal/notes.json", "its name is not that of an entry")
    assert told[1] == (f"journal/{falls.name}", "it is out of sequence (expected 2, found 3)")
    assert told[2] == (
        f"journal/{falls.name}",
        f"its id is not greater than the one before ({ids(1)[0]} after {ids(1)[0]})",
    )
    assert first.name not in str(told)
    assert told[3][0] == f"journal/{falls.name}", "its content is newer than that id"
    assert report.entries == 8, "the rest is looked at all the same"


def test_an_entry_that_cannot_follow_is_named(tmp_path: Path) -> None:
    run = made(tmp_path)
    last = sorted((run / "journal").iterdir())[-1]
    text = codec.encode("EFFECT_RESOLVED", MOMENT, {"effectId": "E9", "status": "ok"})
    (run / "journal" / f"000011.{last.name[7:-6]}Z.json").write_bytes(text)
    (fault,) = faults(audited(run)).values()
    assert "E9, which was not requested" in fault


def test_a_cache_that_says_something_else_is_named(tmp_path: Path) -> None:
    run, other = made(tmp_path / "one"), made(tmp_path / "two")
    shutil.copy(other / "state/bridle.pack", run / "state/bridle.pack")
    assert f"bridle run:rebuild-state {run} rebuilds it" in faults(audited(run))["state/bridle.pack"]


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_a_changed_byte_of_the_pack_is_named(tmp_path: Path, part: float) -> None:
    run = made(tmp_path)
    pack = run / "state/bridle.pack"
    text = bytearray(pack.read_bytes())
    text[int(part * (len(text) - 2))] ^= 1
    pack.write_bytes(text)
    assert "it was changed after it was written" in faults(audited(run))["state/bridle.pack"]


def test_a_line_that_was_cut_out_of_the_pack_is_noticed(tmp_path: Path) -> None:
    run = made(tmp_path)
    pack = run / "state/bridle.pack"
    first, _, *rest = pack.read_bytes().splitlines(keepends=True)
    pack.write_bytes(b"".join([first, *rest]))
    assert list(faults(audited(run))) == ["state/bridle.pack"]


def test_a_pack_whose_last_line_a_killed_writer_did_not_finish_is_no_fault(tmp_path: Path) -> None:
    run = made(tmp_path)
    pack = run / "state/bridle.pack"
    for cut in (1, 10, 80):
        pack.write_bytes(pack.read_bytes()[:-cut])
        assert faults(audited(run)) == {}


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_stored_output_that_was_changed_is_named(tmp_path: Path, name: str) -> None:
    run = made(tmp_path)
    with FileStore(run).write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, 5))
        output = Output(text="caf\udce9\n")
        stdout, stderr = (output, None) if name == "stdout" else (None, output)
        posted = Posted("ok", value=1, started_at=MOMENT, finished_at=MOMENT, stdout=stdout, stderr=stderr)
        writer.resolve(effect_id, posted)
    assert faults(audited(run)) == {}
    file = f"tasks/{effect_id}/{name}.log"
    (run / file).write_bytes(b"caff\n")
    assert list(faults(audited(run))) == [file]


def test_a_removed_blob_of_a_definition_is_named_and_its_task_refused(tmp_path: Path) -> None:
    run = made(tmp_path)
    text = b"[1]\n"
    blob = f"data-{sha256(text)}.json"
    with FileStore(run).write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, 5, blobs={blob: text}))
    assert faults(audited(run)) == {}
    reader = FileReader(run)
    effect = reader.state().effects[effect_id]
    reader.task(effect)
    (run / f"tasks/{effect_id}/blobs/{blob}").unlink()
    assert list(faults(audited(run))) == [f"tasks/{effect_id}/blobs/{blob}"]
    with pytest.raises(JournalBroken, match=blob):
        FileReader(run).task(effect)


SNAPSHOTS = {
    "not json": b"{",
    "another status": (b'"resolved_ok"', b'"requested"'),
    "another head": (b'"stateVersion": 10', b'"stateVersion": 99'),
    "another effect": (b'"stepId": "S000002"', b'"stepId": "S000003"'),
}


@pytest.mark.parametrize("change", SNAPSHOTS.values(), ids=SNAPSHOTS)
def test_a_changed_snapshot_is_named(tmp_path: Path, change: bytes | tuple[bytes, bytes]) -> None:
    run = made(tmp_path)
    path = run / "state/state.json"
    text = path.read_bytes()
    if isinstance(change, tuple):
        assert change[0] in text
    path.write_bytes(text.replace(*change, 1) if isinstance(change, tuple) else change)
    (fault,) = faults(audited(run)).items()
    assert fault[0] == "state/state.json"
    assert f"bridle run:rebuild-state {run} rebuilds it" in fault[1]


def test_a_snapshot_of_an_earlier_entry_is_in_order(tmp_path: Path) -> None:
    run = made(tmp_path)
    kept = (run / "state/state.json").read_bytes()
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {})
    (run / "state/state.json").write_bytes(kept)
    assert faults(audited(run)) == {}


def test_a_reference_that_leads_out_is_named_and_not_followed(tmp_path: Path) -> None:
    run = made(tmp_path)
    (tmp_path / "outside.json").write_text("{}")
    entry = next(path for path in (run / "journal").iterdir() if b"EFFECT_RESOLVED" in path.read_bytes())
    value = json.loads(entry.read_bytes())
    value["data"]["resultRef"] = "../../outside.json"
    entry.write_bytes(codec.encode(value["type"], value["recordedAt"], value["data"]))
    assert faults(audited(run))["../../outside.json"] == "the reference leads out of the run's folder"


def test_what_was_left_behind_is_named_and_is_no_fault(tmp_path: Path) -> None:
    run = made(tmp_path)
    (run / "run.lock").write_text("")
    (run / "journal/000009.X.json.tmp-1-2").write_text("")
    (run / ".bridle-0123.tmp").write_text("")
    (run / "tasks/ORPHAN").mkdir()
    with FileStore(run).write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, 9))
    (run / "tasks" / effect_id / layout.RESULT_FILE).write_text("{}")
    report = audited(run)
    assert faults(report) == {}
    assert {finding.file for finding in report.leftovers} == {
        *("run.lock", "journal/000009.X.json.tmp-1-2", "tasks/ORPHAN", f"tasks/{effect_id}/result.json"),
        *((".bridle-0123.tmp",) if (run / ".bridle-0123.tmp").exists() else ()),
    }


def test_what_was_left_behind_is_named_beside_an_entry_that_is_broken(tmp_path: Path) -> None:
    run = made(tmp_path)
    (run / "tasks/ORPHAN").mkdir()
    min((run / "journal").glob("*")).write_text("{}")
    assert "tasks/ORPHAN" in {finding.file for finding in audited(run).leftovers}


def test_an_unknown_layout_is_named(tmp_path: Path) -> None:
    run = sample("run-completed", tmp_path)
    path = run / "run.json"
    path.write_text(path.read_text().replace("2026.01-storage-preview", "2031.01"))
    assert "2031.01" in faults(audited(run))["run.json"]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    run = made(tmp_path)
    shutil.rmtree(run / "journal")
    assert "journal" in faults(audited(run))
    assert os.listdir(run / "tasks")


def test_prompts_and_logs_are_compared_with_the_digests_in_the_result(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py", has_inputs=False, inputs=None)
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    with FileStore(run).write("test") as writer:
        request = make_request(writer.new_id())
        writer.request(request)
        logs = {f"tasks/{request.effect_id}/{name}": run / "tasks" / request.effect_id / name for name in ("a", "b")}
        for path in logs.values():
            path.write_text("as it was", encoding="utf-8")
        metadata = {layout.EVIDENCE: dict.fromkeys(logs, sha256(b"as it was"))}
        writer.resolve(
            request.effect_id, Posted("ok", value=1, started_at=MOMENT, finished_at=MOMENT, metadata=metadata)
        )
    assert audit(run).wrong == []
    changed, removed = logs
    logs[changed].write_text("as it is", encoding="utf-8")
    logs[removed].unlink()
    report = audit(run)
    assert [finding.file for finding in report.wrong] == [changed, removed]
    assert report.leftovers == []
    logs[removed].symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("as it was", encoding="utf-8")
    assert [finding.file for finding in audit(run).wrong] == [changed, removed], "a link is not the file"
    (run / layout.CHAIN_FILE).unlink()  # as a run of an earlier version, whose logs were removed by their age
    assert removed in [finding.file for finding in audit(run).leftovers]


def test_a_file_of_a_result_may_be_written_again_as_a_later_note_says(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py", has_inputs=False, inputs=None)
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    before, first, again = (
        {layout.EVIDENCE: {"record.json": sha256(data)}} for data in (b"before", b"first", b"again")
    )
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_NOTE", before)
        request = make_request(writer.new_id())
        writer.request(request)
        posted = Posted("ok", value=1, started_at=MOMENT, finished_at=MOMENT, metadata=first)
        writer.resolve(request.effect_id, posted)
        writer.append("BRIDLE_NOTE", again)
    for data, is_fault in ((b"before", True), (b"first", False), (b"again", False), (b"other", True)):
        (run / "record.json").write_bytes(data)
        assert ("record.json" in faults(audited(run))) is is_fault


def test_logs_that_were_removed_with_their_worktree_are_no_fault(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py")
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    name = "../../.ralph/worktrees/r-1/.ralph/logs/checks/a.log"
    with FileStore(run).write("test") as writer:
        request = make_request(writer.new_id())
        writer.request(request)
        metadata = {layout.EVIDENCE: {name: sha256(b"")}}
        writer.resolve(
            request.effect_id, Posted("ok", value=1, started_at=MOMENT, finished_at=MOMENT, metadata=metadata)
        )
    assert ([], [name]) == (audit(run).wrong, [finding.file for finding in audit(run).leftovers])
