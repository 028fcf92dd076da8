"""The differences that docs/agent-differences.md lists, and what is left when they are taken from those found."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.side_by_side.compare import Difference

PAGE = Path(__file__).parents[3] / "docs" / "agent-differences.md"
HEADER = ["scenario", "where", "the real one", "`bridle-agent`"]
_EVERYWHERE = re.compile(r"any, as (?P<witness>.+)")
_AT_TIMES = re.compile(r"at times, in (?P<witness>.+)")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Listed:
    """One row: where the two differ, and what each of them does there; a `*` stands for anything."""

    witness: str
    """The scenario in which the difference must be seen."""
    everywhere: bool
    """Whether it may be seen in any other scenario as well."""
    path: str
    real: str
    ours: str
    at_times: bool = False
    """Whether the scenario also runs without it: the real one is not the same each time."""

    def fits(self, difference: Difference) -> bool:
        """Whether a difference is the one of this row."""
        return (
            _is_like(difference.path, self.path)
            and _is_like(_written(difference.real), self.real)
            and _is_like(_written(difference.ours), self.ours)
        )


def listed(page: Path = PAGE) -> list[Listed]:
    """Every row of every table of differences on the page."""
    return list(_rows(page.read_text("utf-8")))


def unlisted(found: list[Difference], rows: list[Listed], scenario: str) -> list[Difference]:
    """What differs in a scenario without being listed."""
    here = [row for row in rows if row.everywhere or row.witness == scenario]
    return [difference for difference in found if not any(row.fits(difference) for row in here)]


def vanished(found: list[Difference], rows: list[Listed], scenario: str) -> list[Listed]:
    """What is listed for a scenario and does not differ in it any more."""
    here = [row for row in rows if row.witness == scenario and not row.at_times]
    return [row for row in here if not any(row.fits(difference) for difference in found)]


def _rows(text: str) -> Iterator[Listed]:
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in _CELL.split(line)[1:-1]] if line.startswith("|") else []
        if cells == HEADER:
            inside = True
        elif not cells:
            inside = False
        elif inside and set(cells[0]) != {"-"}:
            scenario, paths, real, ours = (_plain(cell) for cell in cells)
            everywhere = _EVERYWHERE.fullmatch(scenario)
            at_times = _AT_TIMES.fullmatch(scenario)
            named = everywhere or at_times
            witness = named["witness"] if named else scenario
            for path in _each(paths):
                yield Listed(witness, everywhere is not None, path, real, ours, at_times is not None)


def _each(paths: str) -> Iterator[str]:
    """A path for each of the names between braces."""
    before, brace, names = paths.partition("{")
    if not brace:
        yield before
    for name in names.removesuffix("}").split(", ") if brace else ():
        yield f"{before}{{{name}}}"


def _plain(cell: str) -> str:
    text = cell.replace("\\|", "|")
    return text[1:-1] if text.startswith("`") and text.endswith("`") else text


def _written(value: Any) -> str:
    """A value as a cell has it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_like(value: str, pattern: str) -> bool:
    """Whether a text fits a pattern in which only `*` is special."""
    return pattern == "*" or _compiled(pattern).fullmatch(value.replace("\n", "\\n")) is not None


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
