"""`bridle task:post`: post the result of an effect."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bridle.cli.machine_interface.fire_hooks import fire_hooks
from bridle.cli.machine_interface.light_command import (
    DRY_RUN,
    HOOKS_PLUGIN,
    NO_HOOKS,
    RUNS_DIR,
    Arguments,
    LightCommand,
    Option,
    print_json,
)
from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.engine.hooks import score_payload
from bridle.engine.hooks.find_hooks import ON_SCORE, ON_TASK_COMPLETE
from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.ground.light.moments import iso
from bridle.journal.format import codec
from bridle.journal.format.documents import clean_posted
from bridle.journal.format.entries import BREAKPOINT, DRIVER_PREFIX, ERROR, OK, Data, Entry, Output, Posted
from bridle.journal.format.input_values import parse_input
from bridle.journal.stores.effect_files import FILE_LIMIT_BYTES
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import collapse
from bridle.journal.stores.post_rules import check_answer, check_poster, pending_effect

STDIN = "-"

_OPTIONS = (
    Option("--status", "The outcome: ok or error.", value="ok|error", is_required=True),
    Option("--value", "File with the value, as JSON; - is standard input.", value="FILE"),
    Option("--value-inline", "The value itself, as JSON.", value="JSON"),
    Option("--error", "File with the error, as JSON: name, message, data; - is standard input.", value="FILE"),
    Option("--stdout-ref", "Path of its output, relative to the run's folder.", value="REF"),
    Option("--stderr-ref", "Path of its error output, relative to the run's folder.", value="REF"),
    Option("--stdout-file", "File with its output, to store with the result.", value="FILE"),
    Option("--stderr-file", "File with its error output, to store with the result.", value="FILE"),
    Option("--started-at", "When it started (default: now).", value="ISO"),
    Option("--finished-at", "When it finished (default: now).", value="ISO"),
    Option("--metadata", "File with a JSON object to store with the result.", value="FILE"),
    Option("--invocation-key", "Refuse unless the effect has this key.", value="KEY"),
    HOOKS_PLUGIN,
    NO_HOOKS,
    DRY_RUN,
    RUNS_DIR,
)
_EMPTY = object()
_EXCLUSIVE = (("--stdout-ref", "--stdout-file"), ("--stderr-ref", "--stderr-file"), ("--value", "--value-inline"))


def _run(args: Arguments) -> int:
    _check(args)
    store, effect_id = FileStore(run_from_arguments(args)), args.positional[1]
    # Checked before the lock is taken: a refused command changes nothing, not even a lock file.
    position, key = store.position(), args.text("--invocation-key")
    effect = store.pending_effect(position, effect_id, key=key) or pending_effect(store.state(), effect_id, key=key)
    store.task(effect)  # a result for a task that was changed is refused
    posted = clean_posted(_posted(args, store.run))
    is_for_user = effect.kind == BREAKPOINT and store.metadata().is_interactive
    if is_for_user or effect.kind.startswith(DRIVER_PREFIX):
        refuse_inside_agent("task:post", store.run)
    check_poster(effect)
    check_answer(effect, posted)
    if args.has("--dry-run"):
        return _plan(args)
    with store.write("task:post") as writer:
        entry = writer.resolve(effect_id, posted, key=key)
    fire_hooks(args, store.run, ON_TASK_COMPLETE, entry.data)
    scored = score_payload.score_payload(entry.data, posted)
    if scored is not None:
        fire_hooks(args, store.run, ON_SCORE, scored)
    _print_result(entry, posted, as_json=args.has("--json"))
    return 0


def _check(args: Arguments) -> None:
    status = args.required("--status")
    if status not in (OK, ERROR):
        raise UsageError(f"--status must be ok or error, got {status!r}")
    for first, second in _EXCLUSIVE:
        if args.has(first) and args.has(second):
            raise UsageError(f"{first} and {second} cannot be combined")
    has_value = args.has("--value") or args.has("--value-inline")
    if status == OK and not has_value:
        raise UsageError("--status ok needs --value or --value-inline")
    if status == OK and args.has("--error"):
        raise UsageError("--error needs --status error")
    if status == ERROR and args.has("--value-inline"):
        raise UsageError("--value-inline needs --status ok", remedy="Pass --error FILE.")
    if sum(args.text(name) == STDIN for name in ("--value", "--error", "--metadata")) > 1:
        raise UsageError("standard input can be read only once")


def _posted(args: Arguments, run: Path) -> Posted:
    status, now = args.required("--status"), iso(time.time_ns())
    metadata = _read_json(args, "--metadata", run)
    if metadata is not _EMPTY and not isinstance(metadata, dict):
        raise UsageError("--metadata must be a JSON object", remedy='Write it as {"name": "value"}.')
    return Posted(
        status,
        value=_value(args, run) if status == OK else None,
        error=_error(_read_json(args, "--error", run)) if status == ERROR else None,
        started_at=_moment(args, "--started-at") or now,
        finished_at=_moment(args, "--finished-at") or now,
        stdout=_output(args, "stdout", run),
        stderr=_output(args, "stderr", run),
        metadata=metadata if isinstance(metadata, dict) else None,
    )


def _value(args: Arguments, run: Path) -> object:
    inline = args.text("--value-inline")
    value = _parse(inline, "--value-inline") if inline is not None else _read_json(args, "--value", run)
    if value is _EMPTY:
        raise UsageError("the value is empty", remedy="Use null for a result without a value.")
    return value


def _error(error: object) -> Data:
    """Return the error in the fields of the journal format."""
    if error is _EMPTY:
        return {"name": "Error", "message": "Task reported failure"}
    if not isinstance(error, dict):
        return {"name": "Error", "message": error if isinstance(error, str) else codec.compact(error)}
    if "name" not in error and "message" not in error:
        return {"name": "Error", "message": codec.compact(error), "data": error}
    fields = {"name": "Error", "message": "Task failed", **error}
    return {name: fields[name] for name in ("name", "message", "stack", "data") if fields.get(name) is not None}


def _output(args: Arguments, name: str, run: Path) -> Output | None:
    ref, file = args.text(f"--{name}-ref"), args.text(f"--{name}-file")
    if file is not None:
        return Output(text=_read(file, f"--{name}-file", run).decode("utf-8", "surrogateescape"))
    if ref is not None and (os.path.isabs(ref) or ".." in ref.split("/")):
        raise UsageError(
            f"--{name}-ref must be a path in the run's folder, got {ref!r}",
            remedy=f"Store a file from elsewhere with --{name}-file.",
        )
    return Output(ref=ref) if ref is not None else None


def _moment(args: Arguments, name: str) -> str | None:
    """Return a time as given; raise a UsageError for any other text."""
    text = args.text(name)
    if text:
        from datetime import datetime

        try:
            datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"{name} must be an ISO 8601 time, got {text!r}", remedy=f"Write {iso(0)}.") from None
    return text


def _read_json(args: Arguments, name: str, run: Path) -> object:
    file = args.text(name)
    return _EMPTY if file is None else _parse(_read(file, name, run), name)


def _parse(text: bytes | str, name: str) -> object:
    try:
        return parse_input(text) if text.strip() else _EMPTY
    except codec.BadText as error:
        raise UsageError(f"{name}: {error}") from error


def _read(file: str, name: str, run: Path) -> bytes:
    if file == STDIN:
        return sys.stdin.buffer.read()
    # A path is relative to the run's folder, unless it begins with the folder of the runs: then to the current one.
    is_from_cwd = os.path.isabs(file) or file.startswith(".a5c/")
    path = Path(file) if is_from_cwd else Path(collapse(os.path.join(run, file)))
    try:
        return disk.read_bounded(path, FILE_LIMIT_BYTES)
    except DiskError as error:
        raise UsageError(
            f"{name}: {error.message}", remedy="Relative paths are relative to the run's folder."
        ) from error


def _plan(args: Arguments) -> int:
    plan = {
        "effectId": args.positional[1],
        "status": args.required("--status"),
        "valueProvided": args.has("--value") or args.has("--value-inline"),
        "errorProvided": args.has("--error"),
        "stdoutRef": args.text("--stdout-ref"),
        "stderrRef": args.text("--stderr-ref"),
        "stdoutFile": args.text("--stdout-file"),
        "stderrFile": args.text("--stderr-file"),
    }
    if args.has("--json"):
        print_json({"status": "skipped", "dryRun": True, "plan": plan}, pretty=True)
    else:
        print("[task:post] status=skipped")
    return 0


def _print_result(entry: Entry, posted: Posted, *, as_json: bool) -> None:
    refs = {name: entry.data.get(name) for name in ("stdoutRef", "stderrRef", "resultRef")}
    if as_json:
        committed = {name: entry.data[name] for name in ("resultRef", "stdoutRef", "stderrRef") if name in entry.data}
        times = {"startedAt": posted.started_at, "finishedAt": posted.finished_at}
        print_json({"status": posted.status, "committed": committed | times, **refs})
    else:
        fields = (f" {name}={ref}" for name, ref in refs.items() if ref is not None)
        print(f"[task:post] status={posted.status}{''.join(fields)}")


command = LightCommand("Post the result of an effect.", _run, arguments=("RUN", "EFFECT"), options=_OPTIONS)
