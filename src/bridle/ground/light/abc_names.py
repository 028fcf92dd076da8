"""The names of `collections.abc` for annotations in hooks, without importing `collections`.

The interpreter has these classes in a module that is loaded at every start.
"""

from __future__ import annotations

from _collections_abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["Callable", "Iterable", "Iterator", "Mapping", "Sequence"]
