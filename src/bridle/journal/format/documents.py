"""The documents of a run and an effect by the format: run.json, task.json, result.json, and the data of entries.

Pure: values in, values out, in the format's order of keys. The stores write them.
"""

from __future__ import annotations

from bridle.errors import UsageError
from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Mapping
from bridle.journal.format import layout
from bridle.journal.format.codec import BadText, pretty
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import ERROR, OK, Data, Effect, Posted, Request, text_of
from bridle.journal.format.input_values import TooDeep, check_value, clean_value
from bridle.journal.format.key_order import canonical, canonical_object, text_order

TASK_SCHEMA = "2026.01.tasks-v1"
RESULT_SCHEMA = "2026.01.results-v1"

# By the format, a longer value is stored in a separate file.
BLOB_LIMIT_BYTES = 1024 * 1024

# By the format, these fields of a task are kept only if they are objects.
_OBJECTS_ONLY = ("io", "node", "breakpoint", "orchestratorTask", "sleep", "metadata")
_TEXT_ONLY = ("title", "description")
_HEXADECIMAL = frozenset("0123456789abcdef")


class RunMetadata:
    """The content of run.json; a field of another type counts as missing."""

    __slots__ = (
        *("code_digest", "document", "export_name", "harness", "import_path", "is_interactive", "layout_version"),
        *("process_id", "prompt", "run_id"),
    )

    def __init__(self, document: Data) -> None:
        self.document = document
        """All fields, including those that Bridle does not know."""
        self.run_id = text_of(document, "runId") or ""
        self.process_id = text_of(document, "processId") or ""
        entrypoint = document.get("entrypoint")
        entry: Data = entrypoint if isinstance(entrypoint, dict) else {}
        self.import_path = text_of(entry, "importPath")
        """The process file, relative to the run's folder; the process id, if the process is part of Bridle."""
        self.export_name = text_of(entry, "exportName")
        self.layout_version = document.get("layoutVersion")
        harness = text_of(document, "harness")
        self.harness = harness if harness is not None and harness.strip() else None
        """The host that the run is driven from, if any."""
        self.prompt = text_of(document, "prompt")
        """The user's prompt."""
        self.is_interactive = document.get("nonInteractive") is not True
        self.code_digest = text_of(document, "processCodeHash")
        """SHA-256 of the process file when the run was created."""

    @property
    def completion_proof(self) -> str:
        """Return the proof of the run; without a recorded one, the format derives it from the id."""
        recorded = text_of(self.document, "completionProof")
        return recorded or sha256(f"{self.run_id}:{layout.PROOF_SALT}".encode())


class TaskDocument:
    """The content of a task.json, with its inputs."""

    __slots__ = ("document",)

    def __init__(self, document: Data) -> None:
        self.document = document
        """All fields; each kind of effect has its own."""

    @property
    def inputs(self) -> object:
        """Return the arguments of the call."""
        return self.document.get("inputs")

    def printed(self) -> dict[str, object]:
        """Return the fields to print: inputs that are too large for task.json only by their reference."""
        fields = dict(self.document)
        if "inputsRef" in fields:
            fields.pop("inputs", None)
        return fields

    @property
    def title(self) -> str | None:
        return text_of(self.document, "title")

    @property
    def is_idempotent(self) -> bool:
        """Return whether the effect may be executed again without asking the user."""
        return self.document.get("idempotent") is True

    @property
    def sleep_until_ms(self) -> int | None:
        """Return when a sleep ends, in milliseconds since 1970."""
        sleep = self.document.get("sleep")
        end = sleep.get("targetEpochMs") if isinstance(sleep, dict) else None
        return end if isinstance(end, int) else None


class ResultDocument:
    """The content of a result.json."""

    __slots__ = ("blob_ref", "document", "error", "has_value", "metadata", "status", "value")

    def __init__(self, document: Data) -> None:
        self.document = document
        """All fields."""
        self.status = OK if document.get("status") == OK else ERROR
        self.has_value = "result" in document or "value" in document
        self.value = document["result"] if "result" in document else document.get("value")
        """By the format, the value is in two fields."""
        self.blob_ref = text_of(document, "resultRef")
        """The file of a value that is too large."""
        error, metadata = document.get("error"), document.get("metadata")
        self.error: Data | None = error if isinstance(error, dict) else None
        self.metadata: Data = metadata if isinstance(metadata, dict) else {}


class Blob:
    """A value that is too large for its document: the text and the name of its file."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: bytes) -> None:
        self.name = name
        self.text = text


def blob_of(name: str, value: object) -> Blob | None:
    """Return the blob for a value; None if it is small enough for its document."""
    text = pretty(canonical(value))
    if len(text) <= BLOB_LIMIT_BYTES:
        return None
    return Blob(f"{name}-{sha256(text)}.json", text)


def digest_in_name(ref: str) -> str | None:
    """Return the digest in the name of a blob; None for a name without one."""
    digest = ref.rpartition("-")[2].removesuffix(".json")
    return digest if len(digest) == 64 and _HEXADECIMAL.issuperset(digest) else None


def digest_of(inputs: object) -> str:
    """Return a digest of a call's arguments: equal for equal JSON, regardless of key order."""
    return sha256(quick_json.compact_sorted(inputs).encode())


def task_document(request: Request, *, inputs_ref: str | None) -> dict[str, object]:
    """Return the content of task.json: the definition with sorted keys, the ids of the effect, its inputs."""
    kept = {key: value for key, value in request.definition.items() if _is_kept(key, value)}
    document = canonical_object(kept)
    if "labels" in document:
        labels = _clean_labels(document["labels"])
        document = document | {"labels": labels} if labels else _without(document, "labels")
    document |= {"schemaVersion": TASK_SCHEMA, "effectId": request.effect_id, "taskId": request.task_id}
    document |= {"invocationKey": request.key, "stepId": request.step_id, "kind": request.kind}
    return document | ({"inputsRef": inputs_ref} if inputs_ref else {"inputs": canonical(request.inputs)})


def requested_data(request: Request, *, task_ref: str, inputs_ref: str | None) -> dict[str, object]:
    data: dict[str, object] = {
        "effectId": request.effect_id,
        "invocationKey": request.key,
        "invocationHash": sha256(request.key.encode("utf-8", "surrogatepass")),
        "stepId": request.step_id,
        "taskId": request.task_id,
        "kind": request.kind,
        "label": request.label,
        "taskDefRef": task_ref,
        "inputsRef": inputs_ref,
        "labels": list(request.labels) or None,
    }
    return _present(data)


def result_document(
    effect: Effect, posted: Posted, *, result_ref: str | None, stdout_ref: str | None, stderr_ref: str | None
) -> dict[str, object]:
    """Return the content of result.json; by the format, the value of an `ok` is in it twice."""
    document: dict[str, object] = {
        "schemaVersion": RESULT_SCHEMA,
        "effectId": effect.effect_id,
        "taskId": effect.task_id,
        "invocationKey": effect.key,
        "status": posted.status,
    }
    value = canonical(posted.value)
    if posted.status == OK:
        document |= {"resultRef": result_ref} if result_ref else {"result": value}
    document |= _present(
        {
            "error": canonical_object(posted.error) if posted.error is not None else None,
            "stdoutRef": stdout_ref,
            "stderrRef": stderr_ref,
            "startedAt": posted.started_at,
            "finishedAt": posted.finished_at,
            "metadata": canonical_object(posted.metadata) if posted.metadata is not None else None,
        }
    )
    return document | {"value": value} if posted.status == OK and not result_ref else document


def resolved_data(
    effect_id: str, posted: Posted, *, result_ref: str, stdout_ref: str | None, stderr_ref: str | None
) -> dict[str, object]:
    return _present(
        {
            "effectId": effect_id,
            "status": posted.status,
            "resultRef": result_ref,
            "error": dict(posted.error) if posted.error is not None else None,
            "stdoutRef": stdout_ref,
            "stderrRef": stderr_ref,
            "startedAt": posted.started_at,
            "finishedAt": posted.finished_at,
        }
    )


def clean_posted(posted: Posted) -> Posted:
    """Return the result as it is stored; raise a UsageError if it is neither a value nor an error, or not JSON."""
    if posted.status not in (OK, ERROR):
        raise UsageError(f"the status of a result must be ok or error, got {posted.status!r}")
    if posted.status == OK and posted.error is not None:
        raise UsageError("a result with the status ok must not have an error", remedy="Post it with the status error.")
    if posted.status == ERROR and posted.error is None:
        raise UsageError("a result with the status error must have an error", remedy="Give its name and message.")
    try:
        return Posted(
            posted.status,
            value=_clean(posted.value),
            error=None if posted.error is None else _clean_object(posted.error),
            started_at=posted.started_at,
            finished_at=posted.finished_at,
            stdout=posted.stdout,
            stderr=posted.stderr,
            metadata=None if posted.metadata is None else _clean_object(posted.metadata),
        )
    except TooDeep as error:
        raise UsageError(f"the result of an effect cannot be stored: {error}", remedy="Write it to a file.") from error
    except (TypeError, ValueError, BadText) as error:
        raise UsageError(f"the result of an effect must be JSON: {error}") from error


def _clean(value: object) -> object:
    check_value(value)
    return clean_value(value) if "\\ud" in quick_json.compact(value) else value


def _clean_object(value: Data) -> dict[str, object]:
    cleaned = _clean(dict(value))
    return cleaned if isinstance(cleaned, dict) else {}


def _is_kept(key: str, value: object) -> bool:
    if key in _OBJECTS_ONLY:
        return isinstance(value, dict)
    return isinstance(value, str) if key in _TEXT_ONLY else True


def _clean_labels(labels: object) -> list[str]:
    if not isinstance(labels, list):
        return []
    texts = {label.strip() for label in labels if isinstance(label, str)}
    return sorted(filter(None, texts), key=text_order)


def _without(document: Mapping[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != name}


def _present(data: Data) -> dict[str, object]:
    return {key: value for key, value in data.items() if value is not None}
