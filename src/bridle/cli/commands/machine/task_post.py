"""`bridle task:post`: post the result of an effect."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bridle.cli.programs.fire_hooks import tell
from bridle.cli.programs.light_command import DRY_RUN, NO_HOOKS, RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.engine.hooks import score_payload
from bridle.engine.hooks.find_hooks import ON_SCORE, ON_TASK_COMPLETE
from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.ground.light.moments import iso
from bridle.journal.format import codec
from bridle.journal.format.entries import ERROR, OK, Data, Entry, Output, Posted
from bridle.journal.stores.effect_files import FILE_LIMIT_BYTES
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import collapse
from bridle.journal.stores.post_rules import pending_effect

STDIN = "-"

_OPTIONS = (
    Option("--status", "How it went: ok or error.", value="ok|error", is_required=True),
    Option("--value", "File with the value, as JSON; - is standard input.", value="FILE"),
    Option("--value-inline", "The value itself, as JSON.", value="JSON"),
    Option("--error", "File with the error, as JSON: name, message, data; - is standard input.", value="FILE"),
    Option("--stdout-ref", "Where its output is kept, from the run's folder.", value="REF"),
    Option("--stderr-ref", "Where its error output is kept, from the run's folder.", value="REF"),
    Option("--stdout-file", "File with its output, to be kept with the result.", value="FILE"),
    Option("--stderr-file", "File with its error output, to be kept with the result.", value="FILE"),
    Option("--started-at", "When it began (default: now).", value="ISO"),
    Option("--finished-at", "When it ended (default: now).", value="ISO"),
    Option("--metadata", "File with an object to keep beside the result.", value="FILE"),
    Option("--invocation-key", "Refuse unless the effect has this key.", value="KEY"),
    Option("--plugin-root", "The folder of the plugin, whose hooks run too.", value="DIR"),
    NO_HOOKS,
    DRY_RUN,
    RUNS_DIR,
)
_NOTHING = object()
_NOT_BOTH = (("--stdout-ref", "--stdout-file"), ("--stderr-ref", "--stderr-file"), ("--value", "--value-inline"))


def _run(given: Given) -> int:
    _check(given)
    store, effect_id = FileStore(chosen_run(given)), given.arguments[1]
    # Looked up before the lock is taken: who is refused here has changed nothing, not even by a lock file.
    standing, key = store.standing(), given.text("--invocation-key")
    if store.pending_effect(standing, effect_id, key=key) is None:
        pending_effect(store.state(), effect_id, key=key)
    posted = _posted(given, store.run)
    if given.has("--dry-run"):
        return _plan(given)
    with store.write("task:post") as writer:
        entry = writer.resolve(effect_id, posted, key=key)
    tell(given, store.run, ON_TASK_COMPLETE, entry.data)
    scored = score_payload.told(entry.data, posted)
    if scored is not None:
        tell(given, store.run, ON_SCORE, scored)
    _answer(entry, posted, as_json=given.has("--json"))
    return 0


def _check(given: Given) -> None:
    status = given.required("--status")
    if status not in (OK, ERROR):
        raise UsageError(f"--status is ok or error, not {status!r}")
    for one, other in _NOT_BOTH:
        if given.has(one) and given.has(other):
            raise UsageError(f"{one} and {other} cannot be given together")
    has_value = given.has("--value") or given.has("--value-inline")
    if status == OK and not has_value:
        raise UsageError("a result that is ok needs --value or --value-inline")
    if status == OK and given.has("--error"):
        raise UsageError("a result that is ok cannot have an error", remedy="Post it with --status error.")
    if status == ERROR and given.has("--value-inline"):
        raise UsageError("--value-inline is for results that are ok", remedy="Give --error FILE.")
    if sum(given.text(name) == STDIN for name in ("--value", "--error", "--metadata")) > 1:
        raise UsageError("standard input can be read only once")


def _posted(given: Given, run: Path) -> Posted:
    status, now = given.required("--status"), iso(time.time_ns())
    metadata = _read_json(given, "--metadata", run)
    return Posted(
        status,
        value=_value(given, run) if status == OK else None,
        error=_error(_read_json(given, "--error", run)) if status == ERROR else None,
        started_at=given.text("--started-at") or now,
        finished_at=given.text("--finished-at") or now,
        stdout=_output(given, "stdout", run),
        stderr=_output(given, "stderr", run),
        metadata=metadata if isinstance(metadata, dict) else None,
    )


def _value(given: Given, run: Path) -> object:
    inline = given.text("--value-inline")
    value = _parse(inline, "--value-inline") if inline is not None else _read_json(given, "--value", run)
    if value is _NOTHING:
        raise UsageError(
            "the value is empty: a result that is ok needs one", remedy="Write null where there is nothing to say."
        )
    return value


def _error(error: object) -> Data:
    """The error as the format keeps it."""
    if error is _NOTHING:
        return {"name": "Error", "message": "Task reported failure"}
    if not isinstance(error, dict):
        return {"name": "Error", "message": error if isinstance(error, str) else codec.compact(error)}
    if "name" not in error and "message" not in error:
        return {"name": "Error", "message": codec.compact(error), "data": error}
    fields = {
        "name": error.get("name", "Error"),
        "message": error.get("message", "Task failed"),
        "stack": error.get("stack"),
        "data": error.get("data"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _output(given: Given, name: str, run: Path) -> Output | None:
    ref, file = given.text(f"--{name}-ref"), given.text(f"--{name}-file")
    if file is not None:
        return Output(text=_read(file, f"--{name}-file", run).decode("utf-8", "surrogateescape"))
    return Output(ref=ref) if ref is not None else None


def _read_json(given: Given, name: str, run: Path) -> object:
    file = given.text(name)
    return _NOTHING if file is None else _parse(_read(file, name, run), name)


def _parse(text: bytes | str, name: str) -> object:
    try:
        return codec.parse(text) if text.strip() else _NOTHING
    except codec.BadText as error:
        raise UsageError(f"what {name} gives is not JSON: {error}") from error


def _read(file: str, name: str, run: Path) -> bytes:
    if file == STDIN:
        return sys.stdin.buffer.read()
    # A path is meant from the run's folder, unless it begins with the folder that runs are in: then from here.
    is_from_here = os.path.isabs(file) or file.startswith(".a5c/")
    path = Path(file) if is_from_here else Path(collapse(os.path.join(run, file)))
    try:
        return disk.read_bounded(path, FILE_LIMIT_BYTES)
    except DiskError as error:
        raise UsageError(
            f"{name}: {error.message}", remedy="A relative path is meant from the run's folder."
        ) from error


def _plan(given: Given) -> int:
    plan = {
        "effectId": given.arguments[1],
        "status": given.required("--status"),
        "valueProvided": given.has("--value") or given.has("--value-inline"),
        "errorProvided": given.has("--error"),
        "stdoutRef": given.text("--stdout-ref"),
        "stderrRef": given.text("--stderr-ref"),
        "stdoutFile": given.text("--stdout-file"),
        "stderrFile": given.text("--stderr-file"),
    }
    if given.has("--json"):
        print_json({"status": "skipped", "dryRun": True, "plan": plan}, pretty=True)
    else:
        print("[task:post] status=skipped")
    return 0


def _answer(entry: Entry, posted: Posted, *, as_json: bool) -> None:
    refs = {name: entry.data.get(name) for name in ("stdoutRef", "stderrRef", "resultRef")}
    if as_json:
        kept = {name: entry.data[name] for name in ("resultRef", "stdoutRef", "stderrRef") if name in entry.data}
        times = {"startedAt": posted.started_at, "finishedAt": posted.finished_at}
        print_json({"status": posted.status, "committed": kept | times, **refs})
    else:
        given = (f" {name}={ref}" for name, ref in refs.items() if ref is not None)
        print(f"[task:post] status={posted.status}{''.join(given)}")


command = Light("Post the result of an effect.", _run, arguments=("RUN", "EFFECT"), options=_OPTIONS)
