"""Known names that a mistyped one may stand for."""

from __future__ import annotations

from collections.abc import Iterable

# Two letters swapped in a short word: `modle` is 0.8 like `model`, `rum` 0.67 like `run`.
CUTOFF = 0.6


def close_names(name: str, known: Iterable[str], *, limit: int = 1, cutoff: float = CUTOFF) -> list[str]:
    """Return the known names most like this one, best first; case, hyphens and spaces make no difference.

    A name that differs in these alone is the only one returned.
    """
    import difflib  # late: only a mistake needs it

    by_key: dict[str, str] = {}
    for other in known:
        by_key.setdefault(_key(other), other)
    key = _key(name)
    if by_key.get(key, name) != name:
        return [by_key[key]]
    return [by_key[near] for near in difflib.get_close_matches(key, by_key, n=limit, cutoff=cutoff)]


def did_you_mean(name: str, known: Iterable[str], *, limit: int = 1, cutoff: float = CUTOFF, prefix: str = "") -> str:
    """Return `Did you mean a or b?`, each name with the prefix; empty where no known name is close."""
    names = close_names(name, known, limit=limit, cutoff=cutoff)
    return f"Did you mean {' or '.join(prefix + near for near in names)}?" if names else ""


def nearest(name: str, known: Iterable[str], *, edits: int) -> str | None:
    """Return the known name that the fewest changes of a letter lead to, at most `edits`; case makes no difference."""
    counted = [(_edits(name.lower(), other.lower()), other) for other in known]
    count, other = min(counted, default=(edits + 1, ""), key=lambda pair: pair[0])
    return other if count <= edits else None


def _edits(one: str, other: str) -> int:
    """Return how many letters must be added, removed or replaced."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        before, row = row, [place]
        for column, wanted in enumerate(other, start=1):
            row.append(min(row[-1] + 1, before[column] + 1, before[column - 1] + (letter != wanted)))
    return row[-1]


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
