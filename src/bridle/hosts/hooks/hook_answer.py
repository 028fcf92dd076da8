"""What a hook answers: a document for the host, and words for the person about what went wrong."""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping
from bridle.hosts.sessions.session import SessionFile


class Answer:
    """An answer; the empty document lets the session go on as it would without us."""

    __slots__ = ("document", "remarks")

    def __init__(self, document: Mapping[str, object] | None = None, remarks: tuple[str, ...] = ()) -> None:
        self.document = document or {}
        self.remarks = remarks


def approve(*remarks: str) -> Answer:
    """Nothing to say to the host."""
    return Answer(None, remarks)


def remarks_on(file: SessionFile) -> tuple[str, ...]:
    """What is wrong in a session file, for the person."""
    return tuple(f"{file.path}: {fault}" for fault in file.faults)
