"""A record keeps the beginning and the end of very much text, and says how much is left out."""

from __future__ import annotations

from bridle.wire.record.kept_text import KEPT_CHARACTERS, Chunk, Gap, KeptText

BLOCK = 100_000


def kept_of(number: int) -> list[Chunk]:
    kept = KeptText([])
    for index in range(number):
        kept.add(Chunk(f"{index:06}" + "x" * (BLOCK - 6), "sub" if index % 2 else None))
    return kept.chunks


def test_little_text_is_kept_whole() -> None:
    chunks = [Chunk("a"), Chunk(""), Chunk("b", "sub")]
    kept = KeptText([])
    for chunk in chunks:
        kept.add(chunk)
    assert kept.chunks == chunks


def test_of_much_text_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() -> None:
    number = 1000
    chunks = kept_of(number)
    (gap,) = [chunk for chunk in chunks if isinstance(chunk, Gap)]
    kept = [chunk for chunk in chunks if chunk is not gap]
    assert sum(len(chunk.text) for chunk in kept) <= 4 * KEPT_CHARACTERS + BLOCK
    assert gap.characters + sum(len(chunk.text) for chunk in kept) == number * BLOCK
    assert gap.text == f"[{gap.characters} characters are left out here; the log has them]"
    assert [chunk.text[:6] for chunk in chunks[:3]] == ["000000", "000001", "000002"]
    assert (chunks[-1].text[:6], chunks[-1].thread, chunks[-2].thread) == (f"{number - 1:06}", "sub", None)


def test_one_text_that_is_too_long_is_cut_in_its_middle() -> None:
    kept = KeptText([])
    kept.add(Chunk("a" * KEPT_CHARACTERS + "b" * 4 * KEPT_CHARACTERS + "c" * KEPT_CHARACTERS, "sub"))
    head, gap, tail = kept.chunks
    assert (head, tail) == (Chunk("a" * KEPT_CHARACTERS, "sub"), Chunk("c" * KEPT_CHARACTERS, "sub"))
    assert isinstance(gap, Gap)
    assert gap.characters == 4 * KEPT_CHARACTERS


def test_empty_texts_without_end_do_not_fill_the_memory() -> None:
    kept = KeptText([])
    for _ in range(200_000):
        kept.add(Chunk(""))
    assert len(kept.chunks) < 100_000
