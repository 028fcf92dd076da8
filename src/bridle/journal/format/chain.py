"""The chain of a journal: for each entry a digest that covers its file, its name and every entry before it. Pure.

The file `bridle.chain` has one line for each entry, in the order of writing:

    <seq> <ULID> <digest>            written together with the entry
    <seq> <ULID> <digest> later      computed from the entry's file by a later writer: the one before it was killed, or
                                     the entry is of another program
    repair <seq>                     a repair has kept the entries up to this one; the next line continues from it

Lines are only appended. A line whose number was used before shows that entries were removed and others written.
"""

from __future__ import annotations

from bridle.ground.ulid import is_ulid
from bridle.journal.format.digest import sha256
from bridle.journal.format.state import file_name

VERSION = 1
START = sha256(b"bridle journal chain 1\n")
"""The digest before the first entry."""

_ALGORITHM = "sha256"
_LATER = "later"
_REPAIR = "repair"
_DIGEST_DIGITS = 64


class Link:
    """The digest of the chain at one entry."""

    __slots__ = ("head", "is_later", "seq", "ulid")

    def __init__(self, seq: int, ulid: str, head: str, *, is_later: bool = False) -> None:
        self.seq = seq
        self.ulid = ulid
        self.head = head
        self.is_later = is_later
        """Whether a later writer computed it from the entry's file."""

    @property
    def line(self) -> bytes:
        return f"{self.seq} {self.ulid} {self.head}{f' {_LATER}' if self.is_later else ''}\n".encode()


def next_head(before: str, seq: int, ulid: str, text_digest: str) -> str:
    """Return the digest of the chain at an entry, from the one before and the digest of the entry's file."""
    return sha256(f"{before}\n{file_name(seq, ulid)}\n{text_digest}\n".encode())


def format_head(seq: int, head: str) -> str:
    """Return the form of a head in commits and documents: `41 sha256:…`."""
    return f"{seq} {_ALGORITHM}:{head}"


def parse_head(text: str) -> tuple[int, str] | None:
    """Parse `41 sha256:…`; return None for any other text."""
    number, _, digest = text.partition(" ")
    algorithm, _, head = digest.partition(":")
    is_valid = _is_number(number) and algorithm == _ALGORITHM and len(head) == _DIGEST_DIGITS
    return (int(number), head) if is_valid else None


def repair_line(seq: int) -> bytes:
    """Return the line of a repair that has kept the entries up to this one."""
    return f"{_REPAIR} {seq}\n".encode()


def parse_link(line: bytes) -> Link | None:
    """Parse the line of an entry without its newline; return None for any other line."""
    words = line.decode("ascii", "replace").split(" ")
    if len(words) not in (3, 4) or not _is_number(words[0]) or not is_ulid(words[1]) or len(words[2]) != _DIGEST_DIGITS:
        return None
    is_later = len(words) == 4
    return None if is_later and words[3] != _LATER else Link(int(words[0]), words[1], words[2], is_later=is_later)


class Chain:
    """The content of `bridle.chain`."""

    __slots__ = ("complete_bytes", "ends_with_repair", "invalid_lines", "is_torn", "lines", "links", "removed")

    def __init__(self, text: bytes) -> None:
        self.lines = 0
        """The number of complete lines."""
        self.links: list[Link] = []
        """The last link of each entry, from 1 without gaps."""
        self.removed: list[Link] = []
        """The links of entries that were written, and removed before others were written."""
        self.ends_with_repair = False
        self.complete_bytes = 0
        """The length of all complete lines: a power cut may leave anything after them."""
        self.is_torn = False
        self.invalid_lines: list[int] = []
        """The numbers of lines that are neither a repair nor the link of a next entry."""
        self.extend(text)

    def extend(self, text: bytes) -> None:
        """Add what follows the complete lines."""
        end = text.rfind(b"\n") + 1
        lines = text[:end].split(b"\n")[:-1]
        self.invalid_lines += [number for number, line in enumerate(lines, self.lines + 1) if not self._take(line)]
        self.lines += len(lines)
        self.complete_bytes += end
        self.is_torn = end < len(text)

    def link_of(self, seq: int) -> Link | None:
        return self.links[seq - 1] if 0 < seq <= len(self.links) else None

    def head_before(self, seq: int) -> str:
        """Return the digest that the link of this entry continues."""
        return self.links[seq - 2].head if seq > 1 else START

    def _take(self, line: bytes) -> bool:
        link = parse_link(line)
        if link is None:
            word, _, number = line.decode("ascii", "replace").partition(" ")
            is_repair = word == _REPAIR and _is_number(number) and int(number) <= len(self.links)
            if is_repair:
                self.ends_with_repair = True
                del self.links[int(number) :]
            return is_repair
        if not 0 < link.seq <= len(self.links) + 1:
            return False
        self.ends_with_repair = False
        self.removed += self.links[link.seq - 1 :]
        self.links[link.seq - 1 :] = [link]
        return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
