"""What annotations speak of, for modules that hooks import: `collections.abc` would bring all of `collections` along.

These are the very same names; the interpreter itself keeps them in a module of its own, which is loaded at every start.
"""

from __future__ import annotations

from _collections_abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["Callable", "Iterable", "Iterator", "Mapping", "Sequence"]
