"""Every benchmark, side by side with its peers: `bench/run.py [NAME…] [--json]`.

A benchmark is a module of this folder with a function `run` that returns rows, targets and remarks; its name is
in BENCHES. Exit code 1 says that a target was missed, or that a benchmark failed; the others are measured all the same.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that `bench` is a package however this file is started

BENCHES = (
    "wire",
    "run_layer",
    "sandbox_layer",
    "agent_layer",
    "agents_layer",
    "journal_layer",
    "loop_layer",
    "tree_layer",
    "status_layer",
    "hosts_layer",
    "views_layer",
    "watch_layer",
)


def main() -> int:
    """Run the benchmarks that were named, or all of them."""
    parser = argparse.ArgumentParser(description="Measure Bridle side by side with its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    wanted = parser.parse_args()
    if unknown := set(wanted.names) - set(BENCHES):
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    results = {}
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as home:
        os.environ["BRIDLE_HOME"] = home  # runs that are made in this process are recorded there
        for name in wanted.names or BENCHES:
            print(f"bench: {name} …", file=sys.stderr, flush=True)
            results[name] = measure(name)
            if not wanted.json:
                print(_page(name, results[name]), flush=True)
    if wanted.json:
        print(json.dumps(results, default=_plain))
    return 0 if all(map(_holds, results.values())) else 1


def measure(name: str) -> dict[str, Any]:
    """Run one benchmark; where it fails, the result has only an `error`."""
    try:
        result: dict[str, Any] = importlib.import_module(f"bench.{name}").run()
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the others are measured all the same
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
    return result


def _holds(result: dict[str, Any]) -> bool:
    return "error" not in result and all(target.holds for target in result["targets"])


def _page(name: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"== {name}\nFAIL  {result['error']}"
    lines = [f"== {name}", *_table(result["rows"]), "", *result["remarks"], ""]
    for target in result["targets"]:
        verdict = "PASS" if target.holds else "MISS"
        sign = "at least" if target.at_least else "under"
        lines.append(
            f"{verdict}  {target.claim}: {target.found:.2f}{target.unit} ({sign} {target.wanted:g}{target.unit})"
        )
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    head = list(rows[0])
    cells = [head, *([str(row[column]) for column in head] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(head))]
    return ["  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _padded(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)


def _plain(value: Any) -> dict[str, Any]:
    return {**asdict(value), "holds": value.holds}


if __name__ == "__main__":
    sys.exit(main())
