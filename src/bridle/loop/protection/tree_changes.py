"""The files that differ between two trees, and what is in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bridle.loop.working_copy.run_context import RunContext

# A longer file was not written by a person, and holds no test.
FILE_BYTES = 1024 * 1024
# Read at once; what one git may print is bounded.
BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Change:
    """One file that differs between two trees."""

    path: str
    mode: str
    before: str
    after: str

    @property
    def is_gone(self) -> bool:
        """Whether it is in the first one alone."""
        return set(self.after) == {"0"}

    @property
    def is_new(self) -> bool:
        """Whether it is in the second one alone."""
        return set(self.before) == {"0"}


async def changes_since(context: RunContext, before: str, after: str, *, leave: Collection[str]) -> list[Change]:
    """What differs between two trees or commits, these files left out."""
    if before == after:
        return []
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    fields = await context.git.names(*words, before, after)
    left_out = frozenset(leave)
    return [
        Change(path, facts.split()[1], facts.split()[2], facts.split()[3])
        for facts, path in zip(fields[::2], fields[1::2], strict=True)
        if path not in left_out
    ]


async def texts_of(context: RunContext, objects: Collection[str]) -> dict[str, str]:
    """What is in these files, where they are no longer than a file that a person writes."""
    wanted = sorted(one for one in objects if set(one) != {"0"})
    given = "".join(f"{one}\n" for one in wanted).encode()
    form = "%(objectname) %(objecttype) %(objectsize)"
    _, listed = await context.git.run("cat-file", f"--batch-check={form}", given=given) if wanted else (0, "")
    found: dict[str, str] = {}
    batch: list[str] = []
    size_bytes = 0
    for name, kind, size in (line.split() for line in listed.splitlines()):
        if kind != "blob" or int(size) > FILE_BYTES:
            continue
        if size_bytes + int(size) > BATCH_BYTES:
            found |= await _batch(context, batch)
            batch, size_bytes = [], 0
        batch.append(name)
        size_bytes += int(size)
    return found | await _batch(context, batch)


async def _batch(context: RunContext, objects: Sequence[str]) -> dict[str, str]:
    """What is in these files, by one git."""
    if not objects:
        return {}
    given = "".join(f"{one}\n" for one in objects).encode()
    _, text = await context.git.run("cat-file", "--batch=%(objectsize)", given=given)
    data = text.encode("utf-8", "surrogateescape")
    found = {}
    position = 0
    for name in objects:
        start = data.index(b"\n", position) + 1
        position = start + int(data[position : start - 1])
        found[name] = data[start:position].decode("utf-8", "replace")
        position += 1  # the end of a line that git adds
    return found
