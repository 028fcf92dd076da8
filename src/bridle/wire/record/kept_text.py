"""The text of an agent that a record keeps: all of it, or its beginning and its end where there is too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

# Of the beginning and of the end: more than an agent writes for people in a whole day.
KEPT_CHARACTERS = 1024 * 1024
# What a chunk itself needs, in characters: a million empty ones fill the memory too.
CHUNK_CHARACTERS = 100


class Chunk(msgspec.Struct, frozen=True):
    """One text block of an answer, and its thread; None is the main agent's."""

    text: str
    thread: str | None = None


class Gap(Chunk, frozen=True):
    """The place of text that is left out."""

    characters: int = 0


class KeptText:
    """Adds chunks to a list; its size is bounded, whatever is added."""

    __slots__ = ("_size", "chunks")

    def __init__(self, chunks: list[Chunk]) -> None:
        self.chunks = chunks
        self._size = 0

    def add(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self._size += _size(chunk)
        if self._size > 4 * KEPT_CHARACTERS:  # and not at each addition: shortening costs as much as it keeps
            self._shorten()

    def _shorten(self) -> None:
        head = list(_first(self.chunks))
        tail = list(_last(self.chunks))[::-1]
        whole = sum(chunk.characters if isinstance(chunk, Gap) else len(chunk.text) for chunk in self.chunks)
        left_out = whole - sum(len(chunk.text) for chunk in (*head, *tail))
        gap = Gap(f"[{left_out} characters are left out here; the log has them]", characters=left_out)
        self.chunks[:] = [*head, gap, *tail]
        self._size = sum(map(_size, self.chunks))


def _first(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    left = KEPT_CHARACTERS
    for chunk in chunks:
        if left <= 0 or isinstance(chunk, Gap):
            return
        yield chunk if len(chunk.text) <= left else Chunk(chunk.text[:left], chunk.thread)
        left -= _size(chunk)


def _last(chunks: list[Chunk]) -> Iterator[Chunk]:
    left = KEPT_CHARACTERS
    for chunk in reversed(chunks):
        if left <= 0 or isinstance(chunk, Gap):
            return
        yield chunk if len(chunk.text) <= left else Chunk(chunk.text[-left:], chunk.thread)
        left -= _size(chunk)


def _size(chunk: Chunk) -> int:
    return len(chunk.text) + CHUNK_CHARACTERS
