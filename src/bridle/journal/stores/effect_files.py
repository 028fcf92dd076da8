"""The files of one effect: task.json, result.json, its output, and values too large for either.

All of them are on disk before the entry that refers to them: the caller syncs them together with the text of the entry,
then renames it into the journal. A crash in between leaves files that are never read.
"""

from __future__ import annotations

import os

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk, ids
from bridle.ground.light.quick_path import Path
from bridle.ground.light.shell_word import shell_word
from bridle.ground.sync_group import SyncGroup
from bridle.journal.format import codec, documents, layout
from bridle.journal.format.digest import sha256
from bridle.journal.format.documents import ResultDocument, TaskDocument
from bridle.journal.format.entries import ERROR, OK, Effect, Entry, Output, Posted, Request, Result, text_of

# A blob is one value that an agent produced; a larger one is a mistake.
FILE_LIMIT_BYTES = 1024 * 1024 * 1024

ADDED_INPUTS = "it was added after the run was created without inputs"


class FileRefs:
    """References to the files of a task or a result, for the entry."""

    __slots__ = ("digests", "inputs_ref", "ref", "sha256", "stderr_ref", "stdout_ref")

    def __init__(
        self,
        ref: str,
        text: bytes,
        *,
        inputs_ref: str | None = None,
        stdout_ref: str | None = None,
        stderr_ref: str | None = None,
        digests: dict[str, str] | None = None,
    ) -> None:
        self.ref = ref
        self.sha256 = sha256(text)
        """The digest of the document; the entry contains it, so that a change is detected."""
        self.inputs_ref = inputs_ref
        self.stdout_ref = stdout_ref
        self.stderr_ref = stderr_ref
        self.digests = digests or {}
        """The digests of the stored output, by field of the entry."""


class TaskFiles:
    """The folder `tasks` of a run."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def write_task(self, request: Request, group: SyncGroup) -> FileRefs:
        """Write the blobs of a task, then task.json."""
        for name, text in request.blobs.items():
            blob = f"{layout.BLOBS}/{ids.check_id(name, what='the blob name')}"
            self._write(request.effect_id, blob, text, group)
        inputs_ref = self._write_blob(request.effect_id, "inputs", request.inputs, group)
        text = codec.pretty(documents.task_document(request, inputs_ref=inputs_ref))
        ref = self._write(request.effect_id, layout.TASK_FILE, text, group)
        return FileRefs(ref, text, inputs_ref=inputs_ref)

    def write_result(self, effect: Effect, posted: Posted, group: SyncGroup) -> FileRefs:
        """Write the output, a blob for a large value, and result.json."""
        effect_id = effect.effect_id
        result_ref = self._write_blob(effect_id, "result", posted.value, group) if posted.status == OK else None
        stdout_ref = self._write_output(effect_id, "stdout.log", posted.stdout, group)
        stderr_ref = self._write_output(effect_id, "stderr.log", posted.stderr, group)
        document = documents.result_document(
            effect, posted, result_ref=result_ref, stdout_ref=stdout_ref, stderr_ref=stderr_ref
        )
        result = codec.pretty(document)
        ref = self._write(effect_id, layout.RESULT_FILE, result, group)
        outputs = {layout.STDOUT_DIGEST: posted.stdout, layout.STDERR_DIGEST: posted.stderr}
        texts = {name: output.text for name, output in outputs.items() if output is not None}
        digests = {name: sha256(_encode(text)) for name, text in texts.items() if text is not None}
        return FileRefs(ref, result, stdout_ref=stdout_ref, stderr_ref=stderr_ref, digests=digests)

    def task(self, effect: Effect) -> TaskDocument:
        """Return a task.json, with inputs from a blob; raise JournalBroken if it or a blob was changed."""
        path = self.path(effect.effect_id) / layout.TASK_FILE
        document = self.read_object(path, digest=effect.request.text(layout.TASK_DIGEST))
        ref = text_of(document, "inputsRef")
        if "inputs" not in document and ref is not None:
            document = document | {"inputs": self._read_ref(ref)}
        for blob in blob_refs(effect):
            self._read_ref(blob)
        return TaskDocument(document)

    def verify_task(self, effect: Effect) -> None:
        """Raise JournalBroken if a task.json or a blob of it was changed; parse it only without a recorded digest."""
        digest, path = effect.request.text(layout.TASK_DIGEST), self.path(effect.effect_id) / layout.TASK_FILE
        if digest is None:
            self.task(effect)
            return
        self._read_bytes(path, digest=digest)
        inputs = effect.request.text("inputsRef")
        for ref in [*blob_refs(effect), *([] if inputs is None else [inputs])]:
            self._read_bytes(self._inside(ref), digest=documents.digest_in_name(ref))

    def result(self, effect: Effect) -> Result:
        """Return the result of a resolved effect from its files; raise JournalBroken if one was changed."""
        resolution = effect.resolution
        if resolution is None:
            raise JournalBroken(f"effect {effect.effect_id} has no result yet")
        error = resolution.data.get("error")
        if resolution.data["status"] == ERROR and isinstance(error, dict):
            if layout.RESULT_DIGEST in resolution.data:  # other implementations record none
                self.result_document(effect)
            return Result(ERROR, None, error)
        document = self.result_document(effect)
        if not document.has_value and document.blob_ref is not None:
            return Result(OK, self._read_ref(document.blob_ref), None, blob_ref=document.blob_ref)
        if document.status == OK and not document.has_value:
            raise self._unusable(self._inside(effect.result_ref), "it holds no result")
        return Result(document.status, document.value, document.error)

    def result_document(self, effect: Effect) -> ResultDocument:
        """Return a result.json; raise JournalBroken if it was changed."""
        digest = None if effect.resolution is None else effect.resolution.text(layout.RESULT_DIGEST)
        return ResultDocument(self.read_object(self._inside(effect.result_ref), digest=digest))

    def inputs(self, created: Entry | None) -> object:
        """Return the inputs of the run; raise JournalBroken if they were changed, or added to a run without inputs."""
        path, data = self._run / layout.INPUTS_FILE, {} if created is None else created.data
        digest = text_of(data, layout.INPUTS_DIGEST)
        if digest is None and not os.path.lexists(path):
            return None
        if digest is None and layout.INPUTS_DIGEST in data:
            raise self._unusable(path, ADDED_INPUTS)
        return self.read(path, digest=digest)

    def path(self, effect_id: str) -> Path:
        """Return the folder of an effect; raise for an id that is not safe in a path."""
        return self._run / layout.TASKS / ids.check_id(effect_id, what="the effect id")

    def read(self, path: Path, *, digest: str | None = None) -> object:
        """Read JSON from a file of the run; raise JournalBroken if that fails or the SHA-256 is not this one."""
        try:
            return codec.parse(self._read_bytes(path, digest=digest))
        except codec.BadText as error:
            raise self._unusable(path, str(error)) from error

    def read_object(self, path: Path, *, digest: str | None = None) -> dict[str, object]:
        """Read a JSON object from a file of the run."""
        value = self.read(path, digest=digest)
        if not isinstance(value, dict):
            raise self._unusable(path, "it is not an object")
        return value

    def _write_blob(self, effect_id: str, name: str, value: object, group: SyncGroup) -> str | None:
        blob = documents.blob_of(name, value)
        return self._write(effect_id, f"{layout.BLOBS}/{blob.name}", blob.text, group) if blob else None

    def _write_output(self, effect_id: str, name: str, output: Output | None, group: SyncGroup) -> str | None:
        if output is None or output.text is None:
            return None if output is None else output.ref
        return self._write(effect_id, name, _encode(output.text), group)

    def _write(self, effect_id: str, name: str, data: bytes, group: SyncGroup) -> str:
        path = self.path(effect_id) / name
        make_folder(path.parent, group)
        group.write_atomic(path, data)
        return f"{layout.TASKS}/{effect_id}/{name}"

    def _read_bytes(self, path: Path, *, digest: str | None) -> bytes:
        try:
            text = disk.read_bounded(path, FILE_LIMIT_BYTES)
        except DiskError as error:
            raise self._unusable(path, error.message) from error
        if digest is not None and sha256(text) != digest:
            raise self._unusable(path, "it was changed after it was written")
        return text

    def _read_ref(self, ref: str) -> object:
        return self.read(self._inside(ref), digest=documents.digest_in_name(ref))

    def _inside(self, ref: str) -> Path:
        """Return a path that a document names; it must be inside the run."""
        path = self._run / ref
        if os.path.isabs(ref) or ".." in path.relative_to(self._run).parts:
            raise self._unusable(path, "the reference leads out of the run")
        return path

    def _unusable(self, path: Path, fault: str) -> JournalBroken:
        return JournalBroken(
            f"the file {path} of this run is invalid: {fault}",
            remedy=f"Restore it from a backup; bridle audit {shell_word(str(self._run))} lists all faults.",
        )


def blob_refs(effect: Effect) -> list[str]:
    """Return the blobs that the definition of an effect refers to; earlier versions recorded none."""
    refs = effect.request.data.get(layout.BLOB_REFS)
    return [str(ref) for ref in refs] if isinstance(refs, list) else []


def _encode(output: str) -> bytes:
    return output.encode("utf-8", "surrogateescape")


def make_folder(folder: Path, group: SyncGroup) -> None:
    """Create a folder and its missing parents; durable once the group is synced."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        disk.make_private_folder(new)
        group.add_folder(new.parent)
