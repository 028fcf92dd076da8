"""What proves an effect besides its result: prompts and logs, by their digests, so that a changed byte is found.

The digests go into the result, whose own digest is in the journal. `bridle audit` compares them with the files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bridle.journal.format.digest import sha256_of_file
from bridle.journal.format.layout import EVIDENCE
from bridle.loop.protection import baseline
from bridle.loop.working_copy.run_context import RunContext


async def evidence(value: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """The metadata of a result: every file that its value names, from the run's folder, and its digest."""
    paths = list(_files(value, bench))
    found = await asyncio.to_thread(_digests, paths, bench.run_folder) if paths else None
    return {EVIDENCE: found} if found else {}


def _digests(paths: list[Path], folder: Path) -> dict[str, str]:
    return {os.path.relpath(path, folder): sha256_of_file(path) for path in paths if path.is_file()}


def _files(value: Mapping[str, Any], bench: RunContext) -> Iterator[Path]:
    if value.get("origin"):
        yield bench.run_folder / baseline.FILE
    if value.get("prompt"):
        yield bench.run_folder / str(value["prompt"])
    for named in (value, *(value.get("results") or ())):
        if named.get("log"):
            yield bench.workspace / str(named["log"])
