"""The digests of the prompts and logs that belong to a result.

They go into the result's metadata, whose own digest is in the journal. `bridle audit` compares them with the files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridle.journal.format.digest import sha256_of_file
from bridle.journal.format.entries import Effect
from bridle.journal.format.layout import EVIDENCE
from bridle.journal.stores.file_store import FileStore
from bridle.loop.effect_results import (
    CheckResult,
    ChecksResult,
    CommitResult,
    PrepareCopyResult,
    PrepareResult,
    Result,
    WorkResult,
)
from bridle.loop.effects import Arguments, SummarizeArgs, WorkArgs, summary_purpose, work_purpose
from bridle.loop.performers.earlier_attempts import SUMMARY_TASK, log_task
from bridle.loop.protection import baseline
from bridle.loop.user_messages import send
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.log_meta import META_SUFFIX, STDERR_SUFFIX, TIMES_SUFFIX, sidecar_path
from bridle.run.logs_of_purpose import Purpose, log_paths
from bridle.run.request import Mode

RECORDED = "BRIDLE_LOOP_RECORDED"
"""A record that a result has is written again: its new digest, before the file."""


async def evidence(args: Arguments[Any], result: Result, context: RunContext) -> dict[str, Any]:
    """Return the metadata of a result: the digest of every file of its effect, by path from the run's folder."""
    new = context.records.take_new(context.worker)  # in this thread, as all that writes records
    has_files = isinstance(args, WorkArgs | SummarizeArgs) or any(_files(result, context))
    digests = await asyncio.to_thread(_digests, args, result, context) if has_files else {}
    digests |= {os.path.relpath(path, context.run_folder): digest for path, digest in new.items()}
    return {EVIDENCE: digests} if digests else {}


def _digests(args: Arguments[Any], result: Result, context: RunContext) -> dict[str, str]:
    paths = dict.fromkeys([*_files(result, context), *_agent_logs(args, context)])
    return {
        os.path.relpath(path, context.run_folder): context.records.digest_of(path) or sha256_of_file(path)
        for path in paths
        if path.is_file()
    }


def expect_records(context: RunContext, store: FileStore) -> None:
    """Let the records of a run be compared with its journal, and let the journal have what becomes of them."""

    def announce(path: Path, digest: str) -> None:
        send(store, RECORDED, {EVIDENCE: {os.path.relpath(path, store.run): digest}})

    context.records.expect(record_digests(store), announce)


def record_digests(store: FileStore) -> dict[Path, frozenset[str]]:
    """Return the digests that each file in a run's folder may have: that of its last result, and those noted since."""
    noted = [
        (_resolved_at(effect), effect.kind, store.tasks.result_document(effect).metadata.get(EVIDENCE))
        for effect in store.state().resolved
    ]
    noted += [(note.seq, RECORDED, note.data.get(EVIDENCE)) for note in store.state().notes if note.type == RECORDED]
    digests: dict[Path, frozenset[str]] = {}
    for _, kind, files in sorted(noted, key=lambda each: each[0]):
        for name, digest in files.items() if isinstance(files, dict) else ():
            if not str(name).startswith(".."):
                path = Path(store.run) / str(name)
                known = digests.get(path, frozenset()) if kind == RECORDED else frozenset()
                digests[path] = known | {str(digest)}
    return digests


def _resolved_at(effect: Effect) -> int:
    return 0 if effect.resolution is None else effect.resolution.seq


def _files(result: Result, context: RunContext) -> Iterator[Path]:
    """Yield the files that a result names."""
    if result.user_changes is not None or (isinstance(result, PrepareResult) and result.origin):
        yield baseline.record_path(context)
    checks: tuple[CheckResult, ...] = ()
    match result:
        case WorkResult():
            if result.prompt:
                yield context.run_folder / result.prompt
        case ChecksResult():
            checks = result.results
        case PrepareResult() | PrepareCopyResult():
            checks = (result.setup,) if result.setup is not None else ()
        case CommitResult():
            checks = (result.hook,) if result.hook is not None else ()
    yield from (context.workspace / check.log for check in checks if check.log)


def _agent_logs(args: Arguments[Any], context: RunContext) -> Iterator[Path]:
    """Yield the logs of all agents of an effect, also of killed drivers, and the files beside them."""
    match args:
        case WorkArgs():
            purpose = Purpose(work_purpose(context.run, args), Mode.CODER, log_task(args.task))
        case SummarizeArgs():
            purpose = Purpose(summary_purpose(context.run, args), Mode.SUMMARIZER, SUMMARY_TASK)
        case _:
            return
    for log in log_paths(purpose, (context.workspace,)):
        yield log
        yield from (sidecar_path(log, suffix) for suffix in (STDERR_SUFFIX, TIMES_SUFFIX, META_SUFFIX))
