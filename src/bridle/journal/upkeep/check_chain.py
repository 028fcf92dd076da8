"""Check the chain of a run: it must match the journal that was listed after it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from bridle.journal.format import layout
from bridle.journal.format.chain import START, Chain, Link, next_head
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import file_name
from bridle.journal.upkeep.audit_report import ChainReport, Finding

Name = tuple[int, str]


def describe_chain(chain: Chain | None, digests: Mapping[Name, str]) -> ChainReport | None:
    """Return the chain as the entries' files make it; None for a run without one."""
    if chain is None:
        return None
    heads, head = [], START
    for (seq, ulid), digest in sorted(digests.items()):
        head = next_head(head, seq, ulid, digest)
        heads.append(head)
    return ChainReport(heads, _ranges(link.seq for link in chain.links if link.is_later))


def check_chain(
    chain: Chain | None, created: Entry | None, digests: Mapping[Name, str], *, has_ended: bool, has_backup: bool
) -> Iterator[Finding]:
    """Yield the faults of the chain and of entries that are not as they were written.

    `digests`: of each entry's file, by number and id. A run that has not ended may have a writer, which adds links.
    `has_backup`: whether there is a journal that a repair has put aside.
    """
    if chain is None:
        if created is not None and layout.CHAIN_VERSION in created.data:
            yield Finding(layout.CHAIN_FILE, "it is missing, but this run was made with one")
        return
    for number in chain.invalid_lines:
        yield Finding(layout.CHAIN_FILE, f"its line {number} is invalid")
    if chain.links and chain.links[0].is_later:
        yield Finding(layout.CHAIN_FILE, "it was lost and made again: entries may have been changed before that")
    missing = len(digests) - len(chain.links)
    is_repaired = chain.ends_with_repair and has_backup
    if not chain.links and digests and not is_repaired:
        yield Finding(layout.CHAIN_FILE, "it was emptied: entries may have been changed since")  # its first is durable
    elif chain.ends_with_repair and missing > 0 and not has_backup:
        what = "it names a repair, but the journal from before it is missing"
        yield Finding(layout.CHAIN_FILE, f"{what}: the last {missing} entries may have been changed since")
    elif chain.links and has_ended and missing > 1 and not is_repaired:  # a killed writer lacks one
        what = f"it lacks the last {missing} entries: its lines were removed or lost, or another program wrote them"
        yield Finding(layout.CHAIN_FILE, f"{what}; they may have been changed since")
    for link in chain.removed:
        yield Finding(_file(link), f"it was removed after it was written, and others were written; {_names(link)}")
    yield from _changed(chain, digests)


def _changed(chain: Chain, digests: Mapping[Name, str]) -> Iterator[Finding]:
    """Yield the entries that are not as they were written, and the links that were changed."""
    before = START
    for link in chain.links:
        digest = digests.get((link.seq, link.ulid))
        if digest is None:
            yield Finding(_file(link), f"it is missing or has another name, but it was written; {_names(link)}")
            before = link.head
            continue
        head = next_head(before, link.seq, link.ulid, digest)
        if head != link.head and _continues(chain.link_of(link.seq + 1), head, digests):
            yield Finding(layout.CHAIN_FILE, f"its digest of entry {link.seq} was changed")
        elif head != link.head:
            yield Finding(_file(link), f"it is not as it was written: {layout.CHAIN_FILE} has another digest of it")
            head = link.head
        before = head


def _continues(link: Link | None, head: str, digests: Mapping[Name, str]) -> bool:
    """Return whether a link continues a head, so that the entries before it are as they were written."""
    digest = None if link is None else digests.get((link.seq, link.ulid))
    return link is not None and digest is not None and next_head(head, link.seq, link.ulid, digest) == link.head


def _file(link: Link) -> str:
    return f"{layout.JOURNAL}/{file_name(link.seq, link.ulid)}"


def _names(link: Link) -> str:
    return f"{layout.CHAIN_FILE} has entry {link.seq}"


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as ranges, the last one included."""
    groups = (list(group) for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    return [(group[0][1], group[-1][1]) for group in groups]
