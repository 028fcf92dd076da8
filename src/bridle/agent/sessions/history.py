"""What a transcript says: which of its lines are the conversation, read as a stream and with every fault survived.

Lines form a tree: each names the line that it follows. The conversation is the path to the last one, with the answers
of tools that ran side by side, which hang beside that path. A summary stands for all that came before it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle.agent.sessions.api_messages import Message, as_messages
from bridle.agent.sessions.read_transcript import Line, Metadata, decoded, last_summary, lines_at, preserved_by

_CHAINED = frozenset({"user", "assistant", "attachment", "system"})


class _Entry(msgspec.Struct):
    """One line of the tree."""

    uuid: str
    parent: str | None
    role: str | None
    """Whose message it is; none for a line that only holds the chain together."""
    content: bytes
    message_id: str | None = None
    source: str | None = None
    usage: bytes = b"null"
    is_root: bool = False


class History(msgspec.Struct, frozen=True):
    """The conversation that a transcript holds."""

    messages: list[Message] = msgspec.field(default_factory=list)
    """Ready for the endpoint: roles alternate, every call is answered."""
    leaf: str | None = None
    """The id of the line that the next one follows."""
    lines: tuple[tuple[str, str], ...] = ()
    """The id and the role of each line that has a message, oldest first."""
    chain: frozenset[str] = frozenset()
    """The ids of all lines that belong to the conversation; a fork copies these."""
    title: str | None = None
    usage: dict[str, object] = msgspec.field(default_factory=dict)
    """What the last answer of the model used."""
    dropped_tokens: int = 0
    """How much earlier summaries have left out in all."""


class NotInTranscript(LookupError):
    """The line at which the conversation was to be cut is not there."""


def load(path: Path, *, until: str | None = None) -> History:
    """Read the conversation; with `until`, only up to the line of that id."""
    cut = last_summary(path)
    reading = _Reading()
    for at, data in lines_at(path):
        if cut is not None and at < cut.at and not cut.needs(data):
            continue  # a summary stands for it: it is not even looked at
        line = decoded(data)
        if line is not None:
            reading.add(line)
    return reading.history(until)


class _Reading:
    """What is known of the tree while the lines come in; what a summary replaces is let go at once."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._anchor: str | None = None
        self._preserved: list[_Entry] = []
        self._title: str | None = None
        self._dropped = 0

    def add(self, line: Line) -> None:
        """Take in one line."""
        if line.type == "custom-title":
            self._title = line.customTitle
        elif line.type in _CHAINED and not line.isSidechain and line.uuid:
            if line.subtype == "compact_boundary":
                self._cut(line.compactMetadata or Metadata())
            # A line that comes again (a resumed session that was copied) stays where it was first.
            self._entries.setdefault(line.uuid, _entry(line, line.uuid))

    def history(self, until: str | None) -> History:
        """The conversation that ends with the last line, or with the one that is named."""
        order = list(self._entries.values())
        if until is not None:
            if until not in self._entries:
                raise NotInTranscript(until)
            order = order[: order.index(self._entries[until]) + 1]
        if not order:
            return History(title=self._title)
        kept = self._with_preserved(_conversation(order))
        return History(
            messages=as_messages((entry.role, entry.content) for entry in kept if entry.role),
            leaf=order[-1].uuid,
            lines=tuple((entry.uuid, entry.role) for entry in kept if entry.role),
            chain=frozenset(entry.uuid for entry in kept),
            title=self._title,
            usage=_usage_of(kept),
            dropped_tokens=self._dropped,
        )

    def _cut(self, metadata: Metadata) -> None:
        self._dropped = metadata.cumulativeDroppedTokens or 0
        known = {entry.uuid: entry for entry in self._preserved} | self._entries
        self._preserved = [known[name] for name in preserved_by(metadata) if name in known]
        self._anchor = metadata.preservedMessages.anchorUuid if metadata.preservedMessages is not None else None
        self._entries.clear()

    def _with_preserved(self, kept: list[_Entry]) -> list[_Entry]:
        """Put back what the summary left as it was, right after the summary."""
        for at, entry in enumerate(kept):
            if entry.uuid == self._anchor:
                return [*kept[: at + 1], *self._preserved, *kept[at + 1 :]]
        return kept


def _conversation(order: list[_Entry]) -> list[_Entry]:
    """The path to the last line, and what hangs beside it: blocks of the same answer, results of its calls."""
    path = _path(order)
    answers = {entry.message_id for entry in order if entry.uuid in path and entry.message_id}
    kept: list[_Entry] = []
    held: set[str] = set()
    for entry in order:
        is_part = entry.uuid in path or (entry.message_id is not None and entry.message_id in answers)
        if is_part or (entry.source is not None and entry.source in held):
            kept.append(entry)
            held.add(entry.uuid)
    return kept


def _path(order: list[_Entry]) -> set[str]:
    """The ids from the last line back to the first; where a line is missing, the one before it in the file is next."""
    places = {entry.uuid: place for place, entry in enumerate(order)}
    path: set[str] = set()
    at: int | None = len(order) - 1
    while at is not None and at >= 0:
        entry = order[at]
        if entry.uuid in path:
            return path  # lines that follow each other in a circle
        path.add(entry.uuid)
        if entry.is_root:
            return path
        at = places.get(entry.parent or "", at - 1)
    return path


def _entry(line: Line, uuid: str) -> _Entry:
    entry = _Entry(uuid, line.parentUuid, None, b"null", source=line.sourceToolAssistantUUID)
    entry.is_root = line.parentUuid is None
    if line.type == "attachment" and line.attachment is not None and line.attachment.type == "queued_command":
        entry.role, entry.content = "user", bytes(line.attachment.prompt)
    said = line.message
    if said is None or line.type not in ("user", "assistant"):
        return entry
    is_ours = said.model == "<synthetic>" or line.isApiErrorMessage
    if is_ours or said.role not in (None, line.type):
        return entry  # told to people, never to the model
    entry.role, entry.content, entry.usage = line.type, bytes(said.content), bytes(said.usage)
    entry.message_id = said.id if line.type == "assistant" else None
    return entry


def _usage_of(kept: list[_Entry]) -> dict[str, object]:
    for entry in reversed(kept):
        if entry.role == "assistant":
            try:
                usage = msgspec.json.decode(entry.usage)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return {}
            return usage if isinstance(usage, dict) else {}
    return {}
