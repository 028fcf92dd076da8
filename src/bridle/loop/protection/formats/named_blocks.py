"""Texts made of named blocks: protected blocks are restored, all others stay. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, field

from bridle.loop.protection.protected_parts import Restored


class Block(Struct, frozen=True):
    """Lines of a text, and the names that they define."""

    text: str
    names: Mapping[str, object] = field(default_factory=dict)
    """Each name with its meaning, by which definitions are compared."""

    def of(self, names: Collection[str]) -> dict[str, object]:
        """Return the definitions of these names."""
        return {name: meaning for name, meaning in self.names.items() if name in names}


Read = Callable[[str], Sequence[Block]]


def restore(read: Read, origin: str, current: str, names: Collection[str]) -> Restored | None:
    """Return the current text with the original blocks of these names; None if they are unchanged.

    `read` splits a text into blocks that join to the same text; it raises ValueError if it cannot.
    """
    before = read(origin)
    try:
        after = read(current)
    except ValueError as error:
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    what = tuple(_changes(before, after, names))
    if not what:
        return None
    text = _merge(before, after, names)
    try:
        if not _changes(before, read(text), names):
            return Restored(text, what)
    except ValueError:
        pass  # the merged text cannot be parsed
    return Restored(origin, what, is_whole=True)


def _changes(before: Sequence[Block], after: Sequence[Block], names: Collection[str]) -> list[str]:
    """Describe the names whose definitions changed."""
    changed = []
    for name in sorted(names):
        was = [block.names[name] for block in before if name in block.names]
        now = [block.names[name] for block in after if name in block.names]
        if was != now:
            change = "added" if not was else "removed" if not now else "changed"
            changed.append(f"{name} was {change}")
    return changed


def _merge(before: Sequence[Block], after: Sequence[Block], names: Collection[str]) -> str:
    """Join the blocks of `after`, with those of these names replaced by those of `before`."""
    missing = [(n, block) for n, block in enumerate(before) if block.of(names)]
    merged: list[tuple[int | None, str]] = []  # each with its original position, if any
    for block in after:
        own = block.of(names)
        if not own:
            merged.append((None, block.text))
            continue
        same = next((entry for entry in missing if entry[1].of(names) == own), None)
        # A changed block is replaced by the original; a second one of that name is dropped.
        original = same or next((entry for entry in missing if entry[1].of(names).keys() & own.keys()), None)
        if original is not None:
            missing.remove(original)
            merged.append((original[0], block.text if same else original[1].text))
    for place, block in missing:
        merged.insert(_position(merged, place), (place, block.text))
    return "".join(_ended(text, is_last=n == len(merged) - 1) for n, (_, text) in enumerate(merged))


def _position(merged: Sequence[tuple[int | None, str]], place: int) -> int:
    """Return the index after the nearest earlier block, else before the nearest later one, else the end."""
    earlier = [n for n, (known, _) in enumerate(merged) if known is not None and known < place]
    later = [n for n, (known, _) in enumerate(merged) if known is not None and known > place]
    return earlier[-1] + 1 if earlier else later[0] if later else len(merged)


def _ended(text: str, *, is_last: bool) -> str:
    return text if is_last or not text or text.endswith("\n") else text + "\n"
