"""How fast and how small `wire` is beside its peers, and how near it comes to the decoder underneath it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import data
from bench.measure import CACHE, Figures, Row, Target, peer_python, side_by_side

MEBIBYTE = 1024 * 1024
ROUNDS = 5  # the best of five is steady within a tenth on a machine that does other things as well

DECODE = "bridle: decode"
JUDGE = "bridle: decode, fold, judge"
PIPE = "bridle: the same, from a pipe"
CEILING = "msgspec alone, same types"
STANDARD = "json.loads"
SDK = "claude-agent-sdk: parse_message"
CLAUDITOR = "clauditor: invoke, from a pipe"
ROWS = [
    Row(name=DECODE, work="bridle_decode"),
    Row(name=JUDGE, work="bridle_judge"),
    Row(name=PIPE, work="bridle_judge_pipe"),
    Row(name=CEILING, work="msgspec_ceiling"),
    Row(name=STANDARD, work="json_loads"),
    Row(name=SDK, work="sdk", python=peer_python("sdk")),
    Row(name=CLAUDITOR, work="clauditor", python=peer_python("clauditor")),
]
FACTORS = {"small10": 4.0, "mixed100": 2.0}
PEAK_MEBIBYTES = 80.0


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    rows, targets, remarks = [], [], []
    for name, path in data.ensure(CACHE / "bench").items():
        figures = side_by_side(ROWS, path, rounds=ROUNDS)
        rows += [_row(name, path, row.name, figures) for row in ROWS]
        targets += _targets(name, figures)
        share = figures[CEILING].cpu_seconds / figures[DECODE].cpu_seconds
        remarks.append(f"{name}: decode reaches {share:.0%} of the throughput of the decoder underneath it")
    return {"rows": rows, "targets": targets, "remarks": remarks}


def _row(name: str, path: Path, row: str, figures: dict[str, Figures]) -> dict[str, Any]:
    found, size = figures[row], path.stat().st_size
    return {
        "data": name,
        "what": row,
        "CPU s": round(found.cpu_seconds, 3),
        "MB/s": round(size / 1e6 / found.cpu_seconds),
        "events/s": round(found.events / found.cpu_seconds),
        "peak MiB": round(found.peak_bytes / MEBIBYTE),
        "x json.loads": round(figures[STANDARD].cpu_seconds / found.cpu_seconds, 2),
        "x sdk": round(figures[SDK].cpu_seconds / found.cpu_seconds, 2),
        "x clauditor": round(figures[CLAUDITOR].cpu_seconds / found.cpu_seconds, 2),
    }


def _targets(name: str, figures: dict[str, Figures]) -> list[Target]:
    """Like is compared with like: the SDK only decodes; clauditor reads a pipe, folds and judges."""
    wanted = FACTORS[name]
    by_sdk = figures[SDK].cpu_seconds / figures[DECODE].cpu_seconds
    by_clauditor = figures[CLAUDITOR].cpu_seconds / figures[PIPE].cpu_seconds
    targets = [
        Target(claim=f"{name}: {DECODE} against {SDK}", found=by_sdk, wanted=wanted),
        Target(claim=f"{name}: {PIPE} against {CLAUDITOR}", found=by_clauditor, wanted=wanted),
    ]
    if name == "mixed100":
        peak = max(figures[row].peak_bytes for row in (DECODE, JUDGE, PIPE)) / MEBIBYTE
        claim = f"{name}: peak memory of bridle"
        targets.append(Target(claim=claim, found=peak, wanted=PEAK_MEBIBYTES, at_least=False, unit=" MiB"))
    return targets
