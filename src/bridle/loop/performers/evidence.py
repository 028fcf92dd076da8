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
from bridle.journal.format.layout import EVIDENCE
from bridle.loop.effect_results import ChecksResult, PrepareResult, Result, WorkResult
from bridle.loop.protection import baseline
from bridle.loop.working_copy.run_context import RunContext


async def evidence(result: Result, context: RunContext) -> dict[str, Any]:
    """Return the metadata of a result: the digest of every file that it names, by path from the run's folder."""
    paths = list(_files(result, context))
    digests = await asyncio.to_thread(_digests, paths, context.run_folder) if paths else None
    return {EVIDENCE: digests} if digests else {}


def _digests(paths: list[Path], folder: Path) -> dict[str, str]:
    return {os.path.relpath(path, folder): sha256_of_file(path) for path in paths if path.is_file()}


def _files(result: Result, context: RunContext) -> Iterator[Path]:
    if result.user_changes is not None or (isinstance(result, PrepareResult) and result.origin):
        yield baseline.record_path(context)
    match result:
        case WorkResult():
            if result.prompt:
                yield context.run_folder / result.prompt
            if result.log:
                yield context.workspace / result.log
        case ChecksResult():
            yield from (context.workspace / check.log for check in result.results if check.log)
