"""Paths for hooks, whose work takes less time than importing `pathlib`.

`Path` is pathlib's where that is loaded already, which is everywhere but in a hook. In a hook it is `QuickPath`, which
joins and names; any other attribute is that of a pathlib path.
"""

from __future__ import annotations

import os
import sys

__all__ = ["Path", "QuickPath"]

TYPE_CHECKING = False  # `typing` is slow to import; type checkers know the name


class QuickPath:
    """An immutable path with a few of pathlib's methods."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __fspath__(self) -> str:
        return self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"QuickPath({self._text!r})"

    def __truediv__(self, name: str | os.PathLike[str]) -> QuickPath:
        return QuickPath(os.path.join(self._text, name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuickPath) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def name(self) -> str:
        return os.path.basename(self._text)

    @property
    def stem(self) -> str:
        return os.path.splitext(self.name)[0]

    @property
    def parent(self) -> QuickPath:
        return QuickPath(os.path.dirname(self._text) or ".")

    def __getattr__(self, name: str) -> object:
        from pathlib import Path

        return getattr(Path(self._text), name)


if TYPE_CHECKING or "pathlib" in sys.modules:
    from pathlib import Path
else:
    Path = QuickPath
