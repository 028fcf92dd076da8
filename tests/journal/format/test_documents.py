"""task.json and result.json, byte for byte as the other implementation writes them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from bridle.errors import UsageError
from bridle.journal.format import codec, documents
from bridle.journal.format.entries import Entry, Posted, Request
from bridle.journal.format.state import requested_effect
from tests.journal.fixtures.entry_steps import MOMENT, failure, make_request, ok
from tests.journal.fixtures.recorded_samples import FOLDER

OWN = {"schemaVersion", "effectId", "taskId", "invocationKey", "stepId", "inputs", "inputsRef"}
TASKS = sorted(FOLDER.glob("*/tasks/*/task.json"))
RESULTS = sorted(FOLDER.glob("*/tasks/*/result.json"))


def request_of(document: dict[str, object], data: dict[str, object]) -> Request:
    """What must have been asked for to get that task.json and that entry; keys in another order than they end up in."""
    definition = {key: value for key, value in reversed(document.items()) if key not in OWN}
    labels = data.get("labels", [])
    assert isinstance(labels, list)
    texts = {name: data[name] for name in ("effectId", "invocationKey", "stepId", "taskId", "kind", "label")}
    return Request(
        effect_id=str(texts["effectId"]),
        key=str(texts["invocationKey"]),
        step_id=str(texts["stepId"]),
        task_id=str(texts["taskId"]),
        kind=str(texts["kind"]),
        label=str(texts["label"]),
        labels=tuple(labels),
        definition=definition,
        inputs=document["inputs"],
    )


def entry_about(task: Path, entry_type: str) -> Entry:
    for path in sorted((task.parents[2] / "journal").iterdir()):
        name = codec.parse_name(path.name)
        assert name is not None
        entry = codec.decode(*name, path.read_bytes())
        if entry.type == entry_type and entry.data["effectId"] == task.parent.name:
            return entry
    raise AssertionError(f"no {entry_type} for {task}")


@pytest.mark.parametrize("path", TASKS, ids=lambda path: f"{path.parents[2].name}-{path.parent.name[-4:]}")
def test_a_task_is_written_with_the_same_bytes(path: Path) -> None:
    entry = entry_about(path, "EFFECT_REQUESTED")
    request = request_of(json.loads(path.read_bytes()), dict(entry.data))
    assert codec.pretty(documents.task_document(request, inputs_ref=None)) == path.read_bytes()
    task_ref = f"tasks/{request.effect_id}/task.json"
    data = documents.requested_data(request, task_ref=task_ref, inputs_ref=None)
    assert list(data.items()) == list(entry.data.items())


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parents[2].name}-{path.parent.name[-4:]}")
def test_a_result_is_written_with_the_same_bytes(path: Path) -> None:
    document, entry = json.loads(path.read_bytes()), entry_about(path, "EFFECT_RESOLVED")
    posted = Posted(
        document["status"],
        value=document.get("result"),
        error=entry.data.get("error"),  # type: ignore[arg-type]  # it is an object in every sample
        started_at=document["startedAt"],
        finished_at=document["finishedAt"],
    )
    effect = requested_effect(entry_about(path, "EFFECT_REQUESTED"))
    written = documents.result_document(effect, posted, result_ref=None, stdout_ref=None, stderr_ref=None)
    assert codec.pretty(written) == path.read_bytes()
    ref = f"tasks/{effect.effect_id}/result.json"
    data = documents.resolved_data(effect.effect_id, posted, result_ref=ref, stdout_ref=None, stderr_ref=None)
    assert list(data.items()) == list(entry.data.items())


def test_a_result_has_its_fields_in_the_formats_order() -> None:
    effect = requested_effect(Entry(1, "x", "EFFECT_REQUESTED", MOMENT, documents_data()))
    full = Posted("ok", value=1, started_at="s", finished_at="f", metadata={"b": 1, "a": 2})
    document = documents.result_document(effect, full, result_ref=None, stdout_ref="o", stderr_ref="e")
    first = "schemaVersion effectId taskId invocationKey status result stdoutRef stderrRef"
    assert " ".join(document) == f"{first} startedAt finishedAt metadata value"
    assert codec.compact(document["metadata"]) == '{"a":2,"b":1}'
    blob = documents.result_document(effect, full, result_ref="blob", stdout_ref=None, stderr_ref=None)
    assert ("result" in blob, "value" in blob, blob["resultRef"]) == (False, False, "blob")
    bad = documents.result_document(effect, failure("E", "m"), result_ref=None, stdout_ref=None, stderr_ref=None)
    assert ("result" in bad, "value" in bad, bad["error"]) == (False, False, {"message": "m", "name": "E"})


def documents_data() -> dict[str, object]:
    return documents.requested_data(make_request("e"), task_ref="t", inputs_ref=None)


def test_a_definition_keeps_what_the_format_keeps_and_sorts_it() -> None:
    request = make_request("e", inputs={"b": 1, "a": 2})
    definition = {
        "zeta": {"b": 1, "a": [{"d": 1, "c": 2}]},
        "labels": [" second ", "first", "first", "", 3],
        "metadata": "not an object",
        "io": ["nor this"],
        "title": 7,
        "description": "kept",
        "agent": {"prompt": "hi"},
        "kind": "agent",
    }
    wider = Request(
        effect_id="e",
        key=request.key,
        step_id=request.step_id,
        task_id="task",
        kind="agent",
        label=None,
        definition=definition,
        inputs={"b": 1, "a": 2},
    )
    document = documents.task_document(wider, inputs_ref=None)
    first = "agent description kind labels zeta"
    assert " ".join(document) == f"{first} schemaVersion effectId taskId invocationKey stepId inputs"
    assert document["labels"] == ["first", "second"]
    assert codec.compact(document["zeta"]) == '{"a":[{"c":2,"d":1}],"b":1}'
    assert "label" not in documents.requested_data(wider, task_ref="t", inputs_ref=None)


@pytest.mark.parametrize(("extra", "is_blob"), [(0, False), (1, True)])
def test_a_value_of_more_than_a_mebibyte_is_a_blob_named_by_its_digest(extra: int, is_blob: bool) -> None:
    # The text is the letters, two quotes and a line end.
    value = "x" * (documents.BLOB_LIMIT_BYTES - 3 + extra)
    blob = documents.blob_of("result", value)
    assert (blob is not None) == is_blob
    if blob is not None:
        assert blob.text == codec.pretty(value)
        assert blob.name == f"result-{sha256(blob.text).hexdigest()}.json"


def test_digests_are_equal_for_equal_arguments_and_only_then() -> None:
    assert documents.digest_of({"a": 1, "b": [{"d": 1, "c": "é"}]}) == documents.digest_of(
        {"b": [{"c": "é", "d": 1}], "a": 1}
    )
    different = [None, {}, [], "", 0, False, {"a": 1}, {"a": "1"}, {"a": [1]}, {"a": None}, [1, 2], [2, 1]]
    assert len({documents.digest_of(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    "posted",
    [
        Posted("done", value=1, started_at="", finished_at=""),
        Posted("ok", value=1, error={"name": "E"}, started_at="", finished_at=""),
        Posted("error", started_at="", finished_at=""),
    ],
)
def test_a_result_is_a_value_or_an_error(posted: Posted) -> None:
    with pytest.raises(UsageError):
        documents.clean_posted(posted)
    documents.clean_posted(ok(None))
    documents.clean_posted(failure("E", "m"))


def test_run_metadata_is_decoded_and_keeps_what_it_does_not_know() -> None:
    document = {
        "runId": "r",
        "processId": "demo",
        "harness": "claude-code",
        "entrypoint": {"importPath": "../p.py", "exportName": "main"},
        "nonInteractive": True,
        "fromTheFuture": [1],
    }
    metadata = documents.RunMetadata(document)
    assert (metadata.run_id, metadata.process_id, metadata.harness) == ("r", "demo", "claude-code")
    assert (metadata.import_path, metadata.export_name, metadata.is_interactive) == ("../p.py", "main", False)
    assert metadata.document == document


def test_a_field_of_run_metadata_with_another_type_counts_as_missing() -> None:
    wrong = ("runId", "processId", "harness", "prompt", "processCodeHash", "entrypoint", "completionProof")
    metadata = documents.RunMetadata(dict.fromkeys(wrong, 7) | {"nonInteractive": "yes"})
    assert (metadata.run_id, metadata.process_id, metadata.import_path) == ("", "", None)
    assert (metadata.harness, metadata.prompt, metadata.code_digest) == (None, None, None)
    assert metadata.is_interactive
    assert documents.RunMetadata({"harness": "  "}).harness is None


@pytest.mark.parametrize(
    ("document", "value"),
    [({"result": 1, "value": 2}, (True, 1)), ({"value": None}, (True, None)), ({}, (False, None))],
)
def test_the_value_of_a_result_is_in_either_field(document: dict[str, object], value: tuple[bool, object]) -> None:
    result = documents.ResultDocument(document)
    assert (result.has_value, result.value) == value
