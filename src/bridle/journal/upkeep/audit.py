"""Check every file of a run: present, valid and consistent with the others. Changes nothing.

Each fault names its file. Files that a killed writer or another implementation left are reported as leftovers, not as
faults.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk
from bridle.ground.ulid import next_ulid
from bridle.journal.format import codec, documents, folder_names, layout
from bridle.journal.format.chain import Chain
from bridle.journal.format.digest import sha256, sha256_of_file
from bridle.journal.format.documents import ResultDocument, RunMetadata
from bridle.journal.format.entries import OK, RESOLVED_ERROR, RUN_COMPLETED, RUN_CREATED, Data, Effect, Entry, text_of
from bridle.journal.format.refusals import describe_refusals
from bridle.journal.format.state import State, file_name
from bridle.journal.stores.chain_file import read_chain
from bridle.journal.stores.effect_files import ADDED_INPUTS, FILE_LIMIT_BYTES, blob_refs
from bridle.journal.stores.file_reader import ENTRY_LIMIT_BYTES, FileReader
from bridle.journal.upkeep.audit_report import Finding, Report
from bridle.journal.upkeep.check_caches import check_caches
from bridle.journal.upkeep.check_chain import check_chain, describe_chain
from bridle.journal.upkeep.read_caches import Caches

# The folder of the worktrees of runs.
_WORKTREES = "/.ralph/worktrees/"
# They are compared with the journal.
_CACHES = (f"{layout.STATE}/{layout.STATE_FILE}", f"{layout.STATE}/{layout.PACK_FILE}")
_SAME = ("effectId", "taskId", "invocationKey")


def audit(run: Path) -> Report:
    """Audit a run; raise RunNotFound if it does not exist."""
    return _Audit(run).report


class _Audit:
    def __init__(self, run: Path) -> None:
        self.report = Report()
        self._run = run
        self._reader = FileReader(run)
        self._state = State()
        self._entries: list[Entry] = []
        self._listed = 0
        """The files of entries, whether valid or not, when they were listed."""
        self._last = (0, "")
        """The number and the id of the file before."""
        self._covered = {layout.RUN_FILE, layout.CHAIN_FILE, *_CACHES}
        """The files that were compared with a digest, or with the journal."""
        if disk.read_part(run / layout.IGNORE_FILE, FILE_LIMIT_BYTES) == layout.IGNORED.encode():
            self._covered.add(layout.IGNORE_FILE)
        self._caches = Caches(run, self._reader)  # before the journal, which a driver may write to
        self._chain = self._read_chain()  # the same
        self._digests: dict[tuple[int, str], str] = {}
        """Of the entries' files, by number and id."""
        self._noted: dict[str, tuple[Entry, object]] = {}
        """The digest of each file that results name, with the entry of the last such result."""
        metadata = self._metadata()
        self._journal()
        self.report.chain = describe_chain(self._chain, self._digests)
        has_ended, has_backup = self._state.ended is not None, self._has_backup()
        self.report.wrong += check_chain(
            self._chain, self._state.created, self._digests, has_ended=has_ended, has_backup=has_backup
        )
        self._ends(metadata)
        for effect in self._state.effects.values():
            self._task(effect)
            self._result(effect)
            self._blobs(effect)
        self._check_evidence()
        self.report.files += self._caches.files
        self.report.wrong += check_caches(self._caches, self._entries, self._state, self._reader)
        self._leftovers()
        self.report.not_covered = [] if self._chain is None else sorted(self._not_covered())
        self.report.refused = describe_refusals(self._state.notes)
        self.report.entries, self.report.effects = len(self._entries), len(self._state.effects)

    # ---- the run as a whole

    def _read_chain(self) -> Chain | None:
        try:
            chain = read_chain(self._run)
        except DiskError as error:
            self._wrong(layout.CHAIN_FILE, error.message)
            return Chain(b"")
        self.report.files += chain is not None
        return chain

    def _metadata(self) -> RunMetadata | None:
        try:
            metadata = self._reader.unverified_metadata()
        except JournalBroken as error:
            self._wrong(layout.RUN_FILE, error.message)
            return None
        self.report.files += 1
        version = metadata.layout_version
        if version != layout.LAYOUT_VERSION:
            self._wrong(layout.RUN_FILE, f"its layout must be {layout.LAYOUT_VERSION!r}, got {version!r}")
        return metadata

    def _journal(self) -> None:
        """Check every file with the name of an entry in order; continue after a fault."""
        journal = self._run / layout.JOURNAL
        try:
            names = folder_names.list_file_names(journal)
        except OSError as error:
            self._wrong(layout.JOURNAL, f"could not list it: {error.strerror}")
            return
        self._listed = len(names)
        for name in names:
            entry = self._entry(journal / name)
            if entry is None:
                continue
            self._entries.append(entry)
            try:
                self._state.apply(self._renumber(entry))
            except JournalBroken as error:
                self._wrong(f"{layout.JOURNAL}/{name}", error.message)

    def _entry(self, path: Path) -> Entry | None:
        file, parsed = f"{layout.JOURNAL}/{path.name}", codec.parse_name(path.name)
        if parsed is None:
            self._wrong(file, "its name is not that of an entry")
            return None
        (seq, ulid), (last_seq, last_ulid) = parsed, self._last
        self._last = parsed
        if seq != last_seq + 1:
            self._wrong(file, f"it is out of sequence (expected {last_seq + 1}, found {seq})")
        if ulid <= last_ulid:
            self._wrong(file, f"its id is not greater than the one before ({ulid} after {last_ulid})")
        try:
            text = disk.read_bounded(path, ENTRY_LIMIT_BYTES)
            self.report.files += 1
            self._digests[parsed] = sha256(text)
            return codec.decode(seq, ulid, text)
        except (DiskError, codec.BadText) as error:
            self._wrong(file, str(error))
            return None

    def _renumber(self, entry: Entry) -> Entry:
        """Return the entry as if those before it were valid: their faults are already reported."""
        last = self._state.position
        ulid = entry.ulid if entry.ulid > last.ulid else next_ulid(last.ulid, now_ms=0, random=bytes(10))
        return Entry(last.seq + 1, ulid, entry.type, entry.recorded_at, entry.data)

    def _has_backup(self) -> bool:
        """Return whether a repair has put a journal aside."""
        with os.scandir(self._run) as entries:
            return any(entry.name.startswith(layout.BACKUP_PREFIX) and entry.is_dir() for entry in entries)

    def _ends(self, metadata: RunMetadata | None) -> None:
        created, ended = self._state.created, self._state.ended
        if self._entries and self._entries[0].type != RUN_CREATED:
            self._wrong(_name(self._entries[0]), f"the first entry must be {RUN_CREATED}, got {self._entries[0].type}")
        if created is not None:
            self._unchanged(layout.RUN_FILE, created, layout.RUN_DIGEST)
            if metadata is not None and created.text("runId") != (metadata.run_id or None):
                self._wrong(layout.RUN_FILE, f"it is of the run {metadata.run_id}, but the journal is of another")
            self._document(created, "inputsRef", layout.INPUTS_DIGEST)
            is_without = layout.INPUTS_DIGEST in created.data and created.text(layout.INPUTS_DIGEST) is None
            if is_without and os.path.lexists(self._run / layout.INPUTS_FILE):
                self._wrong(layout.INPUTS_FILE, ADDED_INPUTS)
        if ended is not None and ended.type == RUN_COMPLETED:
            self._document(ended, "outputRef", layout.OUTPUT_DIGEST)

    def _document(self, entry: Entry, field: str, digest_field: str) -> None:
        ref = entry.text(field)
        if ref is not None and self._read(ref) is not None:
            self._unchanged(ref, entry, digest_field)

    # ---- one effect

    def _task(self, effect: Effect) -> None:
        request, where = effect.request, effect.task_ref
        document = self._read_object(where)
        if document is None:
            return
        self._unchanged(where, request, layout.TASK_DIGEST)
        self._compare(where, document, request.data, (*_SAME, "stepId", "kind"))
        written = request.text("invocationHash")
        if written is not None and written != sha256(effect.key.encode("utf-8", "surrogatepass")):
            self._wrong(_name(request), "its invocationHash is not that of its key")
        for ref in {request.text("inputsRef"), text_of(document, "inputsRef")} - {None}:
            self._read(str(ref))

    def _result(self, effect: Effect) -> None:
        resolution = effect.resolution
        if resolution is None:
            unrecorded = self._run / layout.TASKS / effect.effect_id / layout.RESULT_FILE
            if os.path.lexists(unrecorded):
                self._left(unrecorded, "a result without a journal entry; the next result overwrites it")
            return
        data, where = resolution.data, effect.result_ref
        for name, digest in (("stdoutRef", layout.STDOUT_DIGEST), ("stderrRef", layout.STDERR_DIGEST)):
            ref = resolution.text(name)
            if ref is not None:
                self._exists(ref)
                self._unchanged(ref, resolution, digest)
        found = self._read_object(where)
        if found is None:
            return
        document = ResultDocument(found)
        self._unchanged(where, resolution, layout.RESULT_DIGEST)
        self._compare(where, found, {**effect.request.data, **data}, (*_SAME, "status"))
        self._value(where, document)
        self._printed(document)
        self._note_evidence(document, resolution)
        if effect.status == RESOLVED_ERROR and "error" in data and document.error != data["error"]:
            self._wrong(where, f"its error is not the one in {_name(resolution)}")

    def _value(self, where: str, document: ResultDocument) -> None:
        if document.blob_ref is not None:
            self._read(document.blob_ref)
        elif document.status == OK and not document.has_value:
            self._wrong(where, "it is ok and holds no result")
        elif document.document.get("value", document.value) != document.value:
            self._wrong(where, "its result and its value, which are the same by the format, differ")

    def _printed(self, document: ResultDocument) -> None:
        """Check the output of a command by its recorded digest."""
        for name in ("stdout", "stderr"):
            ref, digest = text_of(document.document, f"{name}Ref"), text_of(document.metadata, f"{name}Sha256")
            if ref is None or digest is None:
                continue
            self._covered.add(ref)
            if self._digest(ref) not in (None, digest):
                self._wrong(ref, "it was changed after it was written")

    def _note_evidence(self, document: ResultDocument, resolution: Entry) -> None:
        """Note the digests of prompts, logs and records that a result has; of several of one file the last counts."""
        noted = document.metadata.get(layout.EVIDENCE)
        for name, digest in noted.items() if isinstance(noted, dict) else ():
            known = self._noted.get(str(name))
            if known is None or known[0].seq < resolution.seq:
                self._noted[str(name)] = resolution, digest

    def _check_evidence(self) -> None:
        for name, (resolution, digest) in self._noted.items():
            entry = _name(resolution)
            path = self._run / str(name)
            self._covered.add(str(name))
            if path.is_symlink() or not path.is_file():
                # Earlier versions removed logs by their age only. A worktree goes with its logs: the user removes it,
                # or a driver makes a broken one again.
                is_expected = self._chain is None or _WORKTREES in str(path)
                found = self.report.leftovers if is_expected else self.report.wrong
                found.append(Finding(name, f"it is missing; {entry} refers to it"))
                continue
            self.report.files += 1
            now = sha256_of_file(path)
            if now != digest and now not in self._noted_since(str(name), resolution):
                self._wrong(name, f"it was changed after {entry} was written")

    def _noted_since(self, name: str, resolution: Entry) -> Iterator[object]:
        """Yield the digests of a file that notes have: it was written again, maybe by a driver without a result."""
        for note in self._state.notes:
            noted = note.data.get(layout.EVIDENCE)
            if note.seq > resolution.seq and isinstance(noted, dict) and name in noted:
                yield noted[name]

    def _blobs(self, effect: Effect) -> None:
        """Check a blob by the digest in its name."""
        for ref in blob_refs(effect):
            self._exists(ref)
        folder = self._run / layout.TASKS / effect.effect_id / layout.BLOBS
        for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
            digest = documents.digest_in_name(name)
            if digest is None:
                continue
            self._covered.add(self._shown(folder / name))
            try:
                text = disk.read_bounded(folder / name, FILE_LIMIT_BYTES)
            except DiskError as error:
                self._wrong(self._shown(folder / name), error.message)
                continue
            self.report.files += 1
            if sha256(text) != digest:
                self._wrong(self._shown(folder / name), "its content does not match the digest in its name")

    def _compare(self, where: str, document: Data, data: Data, fields: tuple[str, ...]) -> None:
        for name in fields:
            if name in data and document.get(name) != data[name]:
                self._wrong(where, f"its {name} is {document.get(name)!r}, but {data[name]!r} in the journal")

    # ---- unreferenced files

    def _leftovers(self) -> None:
        if self._chain is not None and self._chain.is_torn:
            self._left(self._run / layout.CHAIN_FILE, "its last line is torn; the next writer adds it again")
        for path in self._odd_files():
            self._left(path, "left on its way by a writer that was killed")
        if os.path.lexists(self._run / layout.FOREIGN_LOCK_FILE):
            self._left(self._run / layout.FOREIGN_LOCK_FILE, "a lock of another implementation")
        tasks = self._run / layout.TASKS
        for name in sorted(os.listdir(tasks)) if tasks.is_dir() else ():
            if name not in self._state.effects and not name.startswith("."):
                self._left(tasks / name, "no entry asks for this effect")
        if self._has_grown():  # by a living writer, which is about to write the entries
            self.report.leftovers = [item for item in self.report.leftovers if not _is_of_task(item)]

    def _has_grown(self) -> bool:
        try:
            return len(folder_names.list_file_names(self._run / layout.JOURNAL)) > self._listed
        except OSError:
            return False  # already reported

    def _odd_files(self) -> Iterator[Path]:
        for folder, _, files in os.walk(self._run):
            for name in sorted(files):
                is_ours = name.startswith(disk.TEMPORARY_PREFIX) and name.endswith(disk.TEMPORARY_SUFFIX)
                if is_ours or ".tmp-" in name:
                    yield Path(folder) / name

    def _not_covered(self) -> Iterator[str]:
        """Yield the files that nothing was compared with, and that are neither locks nor leftovers."""
        left = tuple(item.file for item in self.report.leftovers)
        for folder, folders, files in os.walk(self._run):
            if folder == str(self._run):
                folders[:] = [name for name in folders if name != layout.JOURNAL]
            for name in files:
                shown = self._shown(Path(folder) / name)
                is_left = any(shown == file or shown.startswith(f"{file}/") for file in left)
                if shown not in self._covered and not is_left and not name.endswith(".lock"):
                    yield shown

    # ---- reading

    def _read(self, ref: str) -> object | None:
        path = self._inside(ref)
        if path is None:
            return None
        try:
            value = self._reader.tasks.read(path)
        except JournalBroken as error:
            self._wrong(ref, error.message)
            return None
        self.report.files += 1
        return value

    def _read_object(self, ref: str) -> Data | None:
        value = self._read(ref)
        if value is not None and not isinstance(value, dict):
            self._wrong(ref, "it is not an object")
            return None
        return value

    def _unchanged(self, ref: str, entry: Entry, field: str) -> None:
        """Compare a file with its digest in an entry; other writers of the format record none."""
        written = entry.text(field)
        if written is not None:
            self._covered.add(ref)
        if written is not None and self._digest(ref) not in (None, written):
            self._wrong(ref, f"it was changed after {_name(entry)} was written")

    def _digest(self, ref: str) -> str | None:
        path = self._inside(ref)
        try:
            return None if path is None else sha256(disk.read_bounded(path, FILE_LIMIT_BYTES))
        except DiskError:
            return None  # already reported as unreadable

    def _exists(self, ref: str) -> None:
        path = self._inside(ref)
        if path is not None and not path.is_file():
            self._wrong(ref, "missing, but the journal refers to it")

    def _inside(self, ref: str) -> Path | None:
        if os.path.isabs(ref) or ".." in Path(ref).parts:
            self._wrong(ref, "the reference leads out of the run's folder")
            return None
        return self._run / ref

    def _wrong(self, file: str, fault: str) -> None:
        self.report.wrong.append(Finding(file, fault))

    def _left(self, path: Path, what: str) -> None:
        self.report.leftovers.append(Finding(self._shown(path), what))

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self._run))


def _is_of_task(item: Finding) -> bool:
    return item.file.startswith(f"{layout.TASKS}/")


def _name(entry: Entry) -> str:
    return f"{layout.JOURNAL}/{file_name(entry.seq, entry.ulid)}"
