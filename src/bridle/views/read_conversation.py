"""A conversation that is read from a log or a stream: its items, its facts, and the mask of what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bridle.views.log_chunks import Chunk
from bridle.wire.dialects.dialect_table import decoder_for
from bridle.wire.events.events import Event
from bridle.wire.mask import Mask
from bridle.wire.record.outcome import Ending
from bridle.wire.record.recorder import Recorder
from bridle.wire.transcript.process_end import UNKNOWN
from bridle.wire.transcript.transcript import KEPT_CHARACTERS, Transcript


class Conversation:
    """A conversation that grows by chunks of bytes."""

    def __init__(self, agent: str, mask: Mask, *, kept_characters: int = KEPT_CHARACTERS) -> None:
        self.mask = mask
        self.transcript = Transcript(mask=mask, kept_characters=kept_characters)
        self.recorder = Recorder()
        self._decoder = decoder_for(agent)

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Add the events in some chunks."""
        for data, at in chunks:
            self._add_events(self._decoder.feed(data), at)

    def end(self, ending: Ending | None, *, is_running: bool = False) -> None:
        """Add what the end of the input completes; of a running agent, nothing is marked as interrupted.

        `ending` is None where only the log is known.
        """
        if is_running:
            return
        self._add_events(self._decoder.end(), None)
        self.transcript.finish(ending or UNKNOWN)

    def _add_events(self, events: Sequence[Event], at: float | None) -> None:
        self.recorder.add_all(events)
        for event in events:
            self.transcript.add(event, at)
