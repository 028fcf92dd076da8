"""Texts made of blocks, each with names: protected ones are put back at their place, all others stay. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bridle.loop.protection.protected_parts import Restored


@dataclass(frozen=True)
class Block:
    """Some lines of a text, and what they define."""

    text: str
    names: Mapping[str, object] = field(default_factory=dict)
    """What is defined here, and what about it must be the same for it to be the same."""

    def of(self, names: Collection[str]) -> dict[str, object]:
        """What of these names is defined here."""
        return {name: meaning for name, meaning in self.names.items() if name in names}


Read = Callable[[str], Sequence[Block]]


def mend(read: Read, origin: str, current: str, names: Collection[str]) -> Restored | None:
    """The current text with the blocks of these names as they were; None where they are.

    `read` splits a text into blocks that make it up again; ValueError where it cannot.
    """
    before = read(origin)
    try:
        after = read(current)
    except ValueError as error:
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    what = tuple(_changes(before, after, names))
    if not what:
        return None
    text = _rebuilt(before, after, names)
    if is_same(read, origin, text, names):
        return Restored(text, what)
    return Restored(origin, what, is_whole=True)


def is_same(read: Read, origin: str, text: str, names: Collection[str]) -> bool:
    """Whether both texts define these names in the same way."""
    try:
        return not _changes(read(origin), read(text), names)
    except ValueError:
        return False


def _changes(before: Sequence[Block], after: Sequence[Block], names: Collection[str]) -> list[str]:
    """The names that are not what they were, and what became of them."""
    changed = []
    for name in sorted(names):
        was = [block.names[name] for block in before if name in block.names]
        now = [block.names[name] for block in after if name in block.names]
        if was != now:
            deed = "added" if not was else "removed" if not now else "changed"
            changed.append(f"{name} was {deed}")
    return changed


def _rebuilt(before: Sequence[Block], after: Sequence[Block], names: Collection[str]) -> str:
    """The blocks of after, with those of these names replaced by those of before."""
    missing = [(n, block) for n, block in enumerate(before) if block.of(names)]
    made: list[tuple[int | None, str]] = []  # each with the place it had before, if it had one
    for block in after:
        own = block.of(names)
        if not own:
            made.append((None, block.text))
            continue
        same = next((one for one in missing if one[1].of(names) == own), None)
        # Where it was changed, the one that it was stands in its place; a second one of that name is dropped.
        found = same or next((one for one in missing if one[1].of(names).keys() & own.keys()), None)
        if found is not None:
            missing.remove(found)
            made.append((found[0], block.text if same else found[1].text))
    for place, block in missing:
        made.insert(_position(made, place), (place, block.text))
    return "".join(_ended(text, is_last=n == len(made) - 1) for n, (_, text) in enumerate(made))


def _position(made: Sequence[tuple[int | None, str]], place: int) -> int:
    """After the nearest one that stood before it; before the nearest one that followed; else at the end."""
    earlier = [n for n, (known, _) in enumerate(made) if known is not None and known < place]
    later = [n for n, (known, _) in enumerate(made) if known is not None and known > place]
    return earlier[-1] + 1 if earlier else later[0] if later else len(made)


def _ended(text: str, *, is_last: bool) -> str:
    return text if is_last or not text or text.endswith("\n") else text + "\n"
