"""Reads the conversation from a transcript, whatever is wrong with its lines.

Lines form a tree: each names the line before it. The conversation is the path to the last line, with the results of
parallel tool calls, which branch off that path. A summary replaces everything before it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle.agent.sessions.api_messages import History, as_messages
from bridle.agent.sessions.read_transcript import Line, Metadata, decode, last_summary, lines_at, preserved_by
from bridle.agent.sessions.refused_media import removed_kind, without_media

_CHAINED = frozenset({"user", "assistant", "attachment", "system"})


class _Entry(msgspec.Struct):
    """A line of the tree."""

    uuid: str
    parent: str | None
    role: str | None
    """The role of its message; None for a line that only links others."""
    content: bytes
    message_id: str | None = None
    source: str | None = None
    usage: bytes = b"null"
    is_root: bool = False
    removes: str | None = None
    """The type of the block before it that the endpoint has refused."""


class NotInTranscript(LookupError):
    """The line given as the end of the conversation does not exist."""


def load(path: Path, *, until: str | None = None, is_side_chain: bool = False) -> History:
    """Read the conversation, up to the line with the id `until`; with `is_side_chain` that of a sub-agent."""
    summary = None if is_side_chain else last_summary(path)
    reading = _Reading(is_side_chain=is_side_chain)
    for at, data in lines_at(path):
        if summary is not None and at < summary.at and not summary.needs(data):
            continue  # replaced by the summary: not decoded
        line = decode(data)
        if line is not None:
            reading.add(line)
    return reading.history(until)


class _Reading:
    """The tree of the lines read so far; lines that a summary replaces are dropped at once."""

    def __init__(self, *, is_side_chain: bool) -> None:
        self._is_side_chain = is_side_chain
        self._entries: dict[str, _Entry] = {}
        self._anchor: str | None = None
        self._preserved: list[_Entry] = []
        self._title: str | None = None
        self._dropped = 0

    def add(self, line: Line) -> None:
        if line.type == "custom-title":
            self._title = line.customTitle
        elif line.type in _CHAINED and line.isSidechain == self._is_side_chain and line.uuid:
            if line.subtype == "compact_boundary":
                self._drop_replaced(line.compactMetadata or Metadata())
            # A line that occurs twice (a copy of a resumed session) stays in its first place.
            self._entries.setdefault(line.uuid, _entry(line, line.uuid))

    def history(self, until: str | None) -> History:
        """Return the conversation that ends with the last line, or with the line `until`."""
        order = list(self._entries.values())
        if until is not None:
            if until not in self._entries:
                raise NotInTranscript(until)
            order = order[: order.index(self._entries[until]) + 1]
        if not order:
            return History(title=self._title)
        entries = self._with_preserved(_conversation(order))
        _remove_refused(entries)
        return History(
            messages=as_messages((entry.role, entry.content) for entry in entries if entry.role),
            leaf=order[-1].uuid,
            lines=tuple((entry.uuid, entry.role) for entry in entries if entry.role),
            chain=frozenset(entry.uuid for entry in entries),
            title=self._title,
            usage=_last_usage(entries),
            dropped_tokens=self._dropped,
        )

    def _drop_replaced(self, metadata: Metadata) -> None:
        self._dropped = metadata.cumulativeDroppedTokens or 0
        known = {entry.uuid: entry for entry in self._preserved} | self._entries
        self._preserved = [known[name] for name in preserved_by(metadata) if name in known]
        self._anchor = metadata.preservedMessages.anchorUuid if metadata.preservedMessages is not None else None
        self._entries.clear()

    def _with_preserved(self, entries: list[_Entry]) -> list[_Entry]:
        """Insert the preserved lines after the summary."""
        for at, entry in enumerate(entries):
            if entry.uuid == self._anchor:
                return [*entries[: at + 1], *self._preserved, *entries[at + 1 :]]
        return entries


def _conversation(order: list[_Entry]) -> list[_Entry]:
    """Return the path to the last line, with blocks of the same answers and results of their calls."""
    path = _path(order)
    answers = {entry.message_id for entry in order if entry.uuid in path and entry.message_id}
    entries: list[_Entry] = []
    held: set[str] = set()
    for entry in order:
        is_part = entry.uuid in path or (entry.message_id is not None and entry.message_id in answers)
        if is_part or (entry.source is not None and entry.source in held):
            entries.append(entry)
            held.add(entry.uuid)
    return entries


def _remove_refused(entries: list[_Entry]) -> None:
    """Remove what the endpoint refused: media of the newest line before the line that says so."""
    for at, entry in enumerate(entries):
        if entry.removes is None:
            continue
        for before in reversed(entries[:at]):
            content = without_media(before.content, entry.removes) if before.role == "user" else None
            if content is not None:
                before.content = content
                break


def _path(order: list[_Entry]) -> set[str]:
    """Return the ids from the last line to the first; a missing parent is replaced by the line before."""
    places = {entry.uuid: place for place, entry in enumerate(order)}
    path: set[str] = set()
    at: int | None = len(order) - 1
    while at is not None and at >= 0:
        entry = order[at]
        if entry.uuid in path:
            return path  # a cycle
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
    message = line.message
    if message is None or line.type not in ("user", "assistant"):
        return entry
    is_synthetic = message.model == "<synthetic>" or line.isApiErrorMessage
    if line.isApiErrorMessage:
        entry.removes = removed_kind(bytes(message.content))
    if is_synthetic or message.role not in (None, line.type):
        return entry  # shown to the user, never sent to the model
    entry.role, entry.content, entry.usage = line.type, bytes(message.content), bytes(message.usage)
    entry.message_id = message.id if line.type == "assistant" else None
    return entry


def _last_usage(entries: list[_Entry]) -> dict[str, object]:
    for entry in reversed(entries):
        if entry.role == "assistant":
            try:
                usage = msgspec.json.decode(entry.usage)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return {}
            return usage if isinstance(usage, dict) else {}
    return {}
