"""Create the folder of a run atomically: it appears complete, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError, RunExists, UsageError
from bridle.ground import disk, ids, own_runs
from bridle.ground.home import bridle_home
from bridle.ground.sync_group import SyncGroup
from bridle.journal.format import chain, codec, layout
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import RUN_CREATED
from bridle.journal.format.state import file_name
from bridle.journal.stores.effect_files import make_folder


class NewRun:
    """The parameters of a new run."""

    __slots__ = (
        "code_digest",
        "entry",
        "export",
        "harness",
        "has_inputs",
        "inputs",
        "is_interactive",
        "process_id",
        "prompt",
        "request",
        "revision",
        "run_id",
    )

    def __init__(
        self,
        *,
        run_id: str,
        process_id: str,
        entry: Path | None,
        export: str = layout.DEFAULT_EXPORT,
        request: str | None = None,
        revision: str | None = None,
        prompt: str | None = None,
        harness: str | None = None,
        has_inputs: bool = False,
        inputs: object = None,
        is_interactive: bool = True,
        code_digest: str | None = None,
    ) -> None:
        self.run_id = run_id
        self.process_id = process_id
        self.entry = entry
        """The file of the process; None: one that is part of Bridle, found by its id."""
        self.export = export
        """The name of the process in that file."""
        self.request = request
        self.revision = revision
        self.prompt = prompt
        self.harness = harness
        """The host that the run is driven from, if any."""
        self.has_inputs = has_inputs
        self.inputs = inputs
        self.is_interactive = is_interactive
        self.code_digest = code_digest
        """SHA-256 of the file, by which the first iteration detects a change."""


def create_run(runs: Path, new: NewRun, *, proof: str, ulid: str, created_at: str) -> Path:
    """Create the folder of a new run; raise RunExists if the id is taken."""
    run = runs / ids.check_id(new.run_id, what="the run id")
    if os.path.lexists(run):
        raise _exists(run)
    unfinished = disk.temporary_name(runs)
    try:
        with SyncGroup() as group:
            make_folder(runs, group)
            _fill(unfinished, run, new, group, proof=proof, ulid=ulid, created_at=created_at)
            group.sync()
        own_runs.record(run, bridle_home(os.environ), folder=unfinished)
        _name(unfinished, run)
    except BaseException:
        import shutil  # imports compression libraries, needed only after a failure

        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    disk.sync_folder(runs)
    return run


def undo_run(run: Path) -> None:
    """Remove a run that was just created, atomically."""
    aside = disk.temporary_name(run.parent)
    disk.move(run, aside)
    import shutil  # see above

    shutil.rmtree(aside, ignore_errors=True)
    disk.sync_folder(run.parent)


def entrypoint(new: NewRun, run: Path) -> dict[str, str]:
    """Return the process file, relative to the run's folder, and its function."""
    path = new.process_id if new.entry is None else Path(os.path.relpath(new.entry, run)).as_posix()
    return {"importPath": path, "exportName": new.export}


def _fill(folder: Path, run: Path, new: NewRun, group: SyncGroup, *, proof: str, ulid: str, created_at: str) -> None:
    metadata = _metadata(new, entrypoint(new, run), proof=proof, created_at=created_at)
    data = _created_data(new, metadata)
    try:
        documents = {layout.IGNORE_FILE: layout.IGNORED.encode(), layout.RUN_FILE: codec.pretty(metadata)}
        data[layout.RUN_DIGEST] = sha256(documents[layout.RUN_FILE])
        data[layout.INPUTS_DIGEST] = None  # a run without inputs says so
        if new.has_inputs:
            documents[layout.INPUTS_FILE] = codec.pretty(new.inputs)
            data[layout.INPUTS_DIGEST] = sha256(documents[layout.INPUTS_FILE])
        data[layout.CHAIN_VERSION] = chain.VERSION
        text = codec.encode(RUN_CREATED, created_at, data)
        documents[f"{layout.JOURNAL}/{file_name(1, ulid)}"] = text
        first = chain.Link(1, ulid, chain.next_head(chain.START, 1, ulid, sha256(text)))
        documents[layout.CHAIN_FILE] = first.line
    except (TypeError, ValueError) as error:
        raise UsageError(f"the parameters of a run must be JSON: {error}") from error
    disk.make_private_folder(folder)
    for name in layout.FOLDERS:
        disk.make_private_folder(folder / name)
    for name, text in documents.items():
        group.write_new(folder / name, text)
    group.add_folder(folder / layout.JOURNAL)
    group.add_folder(folder)


def _name(folder: Path, run: Path) -> None:
    try:
        os.rename(folder, run)
    except OSError as error:
        if os.path.lexists(run):
            raise _exists(run) from error
        raise DiskError(f"could not create {run}: {error.strerror}", payload=error.errno) from error


def _metadata(new: NewRun, entry: dict[str, str], *, proof: str, created_at: str) -> dict[str, object]:
    fields: dict[str, object] = {
        "runId": new.run_id,
        "request": new.request or new.process_id,
        "processId": new.process_id,
        "harness": new.harness,
        "entrypoint": entry,
        "processPath": entry["importPath"],
        "processRevision": new.revision,
        "layoutVersion": layout.LAYOUT_VERSION,
        "createdAt": created_at,
        "prompt": new.prompt,
        "nonInteractive": None if new.is_interactive else True,
        "completionProof": proof,
        "processCodeHash": new.code_digest,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _created_data(new: NewRun, metadata: dict[str, object]) -> dict[str, object]:
    fields: dict[str, object] = {
        "runId": new.run_id,
        "processId": new.process_id,
        "entrypoint": metadata["entrypoint"],
        "harness": new.harness,
        "processRevision": new.revision,
        "inputsRef": layout.INPUTS_FILE if new.has_inputs else None,
        "prompt": new.prompt,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _exists(run: Path) -> RunExists:
    return RunExists(
        f"the run {run.name} already exists: {run}",
        remedy="Omit --run-id to get a new id, or choose another one.",
    )
