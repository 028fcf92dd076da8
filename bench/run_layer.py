"""What the runner costs beside the official SDK's transport: a child that prints 500 MB, and many agents at once."""

from __future__ import annotations

import json
import random
import stat
from itertools import islice
from pathlib import Path
from typing import Any

from bench import data
from bench.measure import CACHE, Figures, Row, Target, peer_python, side_by_side

MEBIBYTE = 1024 * 1024
ROUNDS = 4  # of a quarter of a minute each; on a machine with other work the best of fewer differs by a third

CORE = "bridle: start, log, decode, fold"
TRANSPORT = "bridle: start, read, split"
SDK = "claude-agent-sdk: transport"
TOGETHER = "bridle: agents side by side"
ROWS = [
    Row(name=CORE, work="run_core"),
    Row(name=TRANSPORT, work="run_transport"),
    Row(name=SDK, work="sdk_transport", python=peer_python("sdk")),
]
WANTED_FACTOR = 2.0
# What may come on top between 100 MB and 500 MB: the noise of an allocator, and nothing that grows with the bytes.
WANTED_GROWTH_MEBIBYTES = 8.0

PIECE_BYTES = 10 * data.MEGABYTE
LOUD = {"100 MB": 10, "500 MB": 50}  # pieces
AGENTS = 100
NUMBERED_LINES = 2_000


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    folder = CACHE / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    figures = {name: side_by_side(ROWS, _loud(folder, count), rounds=ROUNDS) for name, count in LOUD.items()}
    rows = [_row(name, row.name, figures[name]) for name in LOUD for row in ROWS]
    together = side_by_side([Row(name=TOGETHER, work=f"side_by_side_{AGENTS}")], _numbered(folder), rounds=1)[TOGETHER]
    expected = AGENTS * (NUMBERED_LINES + 2)
    remarks = [f"{AGENTS} agents side by side: {together.events} of {expected} events, {_mebibytes(together)} MiB"]
    return {"rows": rows, "targets": _targets(figures, together, expected), "remarks": remarks}


def _row(name: str, row: str, figures: dict[str, Figures]) -> dict[str, Any]:
    found, megabytes = figures[row], _megabytes(name)
    return {
        "child prints": name,
        "what": row,
        "CPU s": round(found.cpu_seconds, 2),
        "CPU ms/MB": round(1000 * found.cpu_seconds / megabytes, 2),
        "MB/s": round(megabytes / found.cpu_seconds),
        "events": found.events,
        "peak MiB": _mebibytes(found),
        "x sdk": round(figures[SDK].cpu_seconds / found.cpu_seconds, 2),
    }


def _targets(figures: dict[str, dict[str, Figures]], together: Figures, expected: int) -> list[Target]:
    small, large = figures["100 MB"], figures["500 MB"]
    factor = large[SDK].cpu_seconds / large[CORE].cpu_seconds
    growth = (large[CORE].peak_bytes - small[CORE].peak_bytes) / MEBIBYTE
    lost = float(expected - together.events)
    return [
        Target(claim=f"500 MB: {CORE} against {SDK}", found=factor, wanted=WANTED_FACTOR),
        Target(
            claim="memory from 100 MB to 500 MB",
            found=growth,
            wanted=WANTED_GROWTH_MEBIBYTES,
            at_least=False,
            unit=" MiB",
        ),
        Target(claim=f"events lost by {AGENTS} agents", found=lost, wanted=1, at_least=False, unit=""),
    ]


def _loud(folder: Path, pieces: int) -> Path:
    """A program that prints a file of small lines so many times, between an init and a result."""
    piece, first, last = folder / "small-lines.ndjson", folder / "init.ndjson", folder / "result.ndjson"
    if not piece.exists():
        _write_piece(piece)
    first.write_bytes(_encoded(data._init()))
    last.write_bytes(_encoded(data._result()))
    files = " ".join(f"'{path}'" for path in (first, *[piece] * pieces, last))
    return _program(folder / f"loud-{pieces}", f"exec cat {files}\n")


def _write_piece(path: Path) -> None:
    """Small lines without the text of an answer, which is kept: memory may grow with it."""
    begun = path.with_suffix(".begun")
    lines = (line for line in data.small_lines(random.Random("small")) if not _is_answer(line))  # noqa: S311  # the same numbers every time
    with begun.open("wb") as stream:
        for line in islice(lines, 1, None):
            stream.write(_encoded(line))
            if stream.tell() >= PIECE_BYTES:
                break
    begun.rename(path)


def _is_answer(line: dict[str, Any]) -> bool:
    return bool(line["type"] == "assistant" and line["message"]["content"][0]["type"] == "text")


def _numbered(folder: Path) -> Path:
    first, last = folder / "init.ndjson", folder / "result.ndjson"
    lines = f"""seq -f '{{"type":"numbered","number":%.0f}}' 1 {NUMBERED_LINES}"""
    return _program(folder / "numbered", f"cat '{first}'\n{lines}\nexec cat '{last}'\n")


def _program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}", encoding="utf-8")
    path.chmod(stat.S_IRWXU)
    return path


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _megabytes(name: str) -> float:
    return LOUD[name] * PIECE_BYTES / data.MEGABYTE


def _mebibytes(figures: Figures) -> int:
    return round(figures.peak_bytes / MEBIBYTE)
