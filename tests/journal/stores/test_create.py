"""A new run's folder has the format's layout, or does not exist."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from bridle.errors import DiskError, RunExists, UsageError
from bridle.journal.format import codec
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_reader import FileReader
from tests.journal.fixtures.entry_steps import MOMENT, ids
from tests.journal.fixtures.recorded_samples import FOLDER, contents


def create(runs: Path, run_id: str = "r", **fields: object) -> Path:
    new = NewRun(run_id=run_id, process_id="demo", entry=runs.parent / "p.py", **fields)  # type: ignore[arg-type]  # as given
    return create_run(runs, new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)


def digests(files: dict[str, bytes]) -> dict[str, object]:
    """What the first entry says of the files beside it."""
    named = {"runSha256": "run.json", "inputsSha256": "inputs.json"}
    found = {field: sha256(files[file]).hexdigest() if file in files else None for field, file in named.items()}
    return {**found, "chainVersion": 1}


@pytest.mark.parametrize("name", ["run-breakpoint", "run-completed", "run-failed", "run-parallel"])
def test_a_run_is_written_with_the_same_bytes_as_the_other_implementation_writes_it(name: str, tmp_path: Path) -> None:
    sample = FileReader(FOLDER / name)
    theirs = sample.metadata().document
    entry = next(sample.entries())
    process = f"process/{str(theirs['processPath']).rpartition('/')[2]}"
    texts = {key: str(theirs[key]) if key in theirs else None for key in ("processRevision", "prompt")}
    new = NewRun(
        run_id=name,
        process_id=str(theirs["processId"]),
        entry=tmp_path / process,
        request=str(theirs["request"]),
        revision=texts["processRevision"],
        prompt=texts["prompt"],
        has_inputs=sample.inputs(entry) is not None,
        inputs=sample.inputs(entry),
    )
    run = create_run(
        tmp_path / ".a5c" / "runs",
        new,
        proof=str(theirs["completionProof"]),
        ulid=entry.ulid,
        created_at=str(theirs["createdAt"]),
    )
    ours = contents(run)
    expected = {path: text for path, text in contents(FOLDER / name).items() if path in ("run.json", "inputs.json")}
    assert expected.items() <= ours.items()
    first = f"journal/000001.{entry.ulid}.json"
    data = dict(codec.decode(1, entry.ulid, ours[first]).data)
    assert {name: data.pop(name) for name in digests(ours)} == digests(ours), "our own fields come last"
    assert list(data.items()) == list(entry.data.items())


def test_a_run_has_the_formats_folders_and_what_git_leaves_out(tmp_path: Path) -> None:
    run = create(tmp_path / "runs")
    assert sorted(path.name for path in run.iterdir() if path.is_dir()) == (
        ["blobs", "journal", "orphaned", "process", "state", "tasks"]
    )
    assert (run / ".gitignore").read_text(encoding="utf-8") == "state/\ntasks/*/artifacts/\nblobs/\norphaned/\n"
    assert not (run / "inputs.json").exists()


def test_what_was_not_given_is_not_written_and_what_was_is_in_its_place(tmp_path: Path) -> None:
    bare = FileReader(create(tmp_path / "runs", "bare")).metadata().document
    first = ["runId", "request", "processId", "entrypoint", "processPath", "layoutVersion", "createdAt"]
    assert list(bare) == [*first, "completionProof"]
    assert (bare["request"], bare["layoutVersion"]) == ("demo", "2026.01-storage-preview")
    given = {"revision": "v1", "prompt": "Do", "harness": "claude-code", "request": "q", "is_interactive": False}
    full = FileReader(create(tmp_path / "runs", "full", **given))
    assert " ".join(full.metadata().document) == (
        "runId request processId harness entrypoint processPath processRevision layoutVersion createdAt prompt"
        " nonInteractive completionProof"
    )
    assert " ".join(next(full.entries()).data) == (
        "runId processId entrypoint harness processRevision prompt runSha256 inputsSha256 chainVersion"
    )


def test_an_id_that_exists_is_refused_and_the_run_stays_as_it_was(tmp_path: Path) -> None:
    run = create(tmp_path / "runs", prompt="the first")
    before = contents(tmp_path)
    with pytest.raises(RunExists, match="the run r already exists"):
        create(tmp_path / "runs", prompt="the second")
    assert contents(tmp_path) == before
    assert FileReader(run).metadata().prompt == "the first"


@pytest.mark.parametrize("run_id", ["../escaped", "a/b", "..", "", ".hidden", "-flag", "a\\b", "a\nb", "x" * 300])
def test_an_id_that_leads_elsewhere_is_refused_and_nothing_is_made(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the run id"):
        create(tmp_path / "runs", run_id)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not JSON"):
        create(tmp_path / "runs", has_inputs=True, inputs={"n": float("nan")})
    assert list((tmp_path / "runs").iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DiskError):
        create(tmp_path / "file" / "runs")
