"""Hearing the model out, once: its answer piece by piece, with its calls begun as they come."""

from __future__ import annotations

import time
from typing import Any

from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.conversation.running_calls import RunningCalls
from bridle.agent.conversation.turn_events import TurnEvents
from bridle.agent.conversation.turn_host import TurnHost
from bridle.agent.conversation.turn_result import Turn
from bridle.agent.model.api.stream_pieces import (
    AnswerBroken,
    AnswerFinished,
    AnswerPiece,
    AnswerRestarted,
    AnswerStarted,
    BlockFinished,
    ModelFallback,
    Retrying,
    StreamFrame,
    ThinkingProgress,
)
from bridle.errors import ModelFailure


class AnswerReceiver:
    """Asks the model, and keeps what it has said so far."""

    def __init__(self, house: TurnHost, tally: Turn, teller: TurnEvents) -> None:
        self._house, self._tally, self._teller = house, tally, teller
        self.spoken: PartialAnswer | None = None
        """The answer under way, or the last one whose calls are not settled."""

    async def hear(self, choice: dict[str, Any] | None) -> PartialAnswer:
        """Ask once; ModelFailure where there is no answer."""
        self._tally.requests += 1
        if self._house.shows_frames:
            self._teller.system("status", {"status": "requesting"})
        spoken = self._fresh()
        started = time.monotonic()
        stream = self._house.ask(tool_choice=choice)
        try:
            async for piece in stream:
                self._tally.first_request = self._tally.first_request or started
                if not isinstance(piece, AnswerRestarted):
                    self._take(piece, spoken)
                elif spoken.calls.is_empty:
                    spoken = self._fresh()
                else:
                    break  # what was begun is not begun again: the answer ends with the calls it has
                await self._house.pace()
        finally:
            self._house.totals.api_ms += (time.monotonic() - started) * 1000
            await stream.aclose()
        return spoken

    def close(self, spoken: PartialAnswer) -> None:
        """Keep what a model had said when it was interrupted."""
        if spoken.ended is None and (spoken.blocks or spoken.partial):
            if spoken.partial.strip():
                self._block({"type": "text", "text": spoken.partial}, spoken)
            self._house.ledger.heard(spoken)

    def _fresh(self) -> PartialAnswer:
        self.spoken = PartialAnswer(RunningCalls(self._house.run))
        return self.spoken

    def _take(self, piece: AnswerPiece, spoken: PartialAnswer) -> None:
        match piece:
            case AnswerStarted():
                spoken.message, spoken.request_id, spoken.is_final = piece.message, piece.request_id, piece.final
                self._tally.first_byte = self._tally.first_byte or time.monotonic()
            case BlockFinished():
                self._block(piece.block, spoken)
            case StreamFrame():
                self._frame(piece.data, spoken)
            case ThinkingProgress():
                self._teller.thought(piece)
            case AnswerFinished():
                spoken.ended = piece
                self._tally.stop_reason = piece.stop_reason
                self._count(spoken, piece.usage)
            case Retrying():
                self._teller.retrying(piece)
            case ModelFallback():
                self._teller.system("model_fallback", self._house.fall_back(piece))
            case AnswerBroken():
                self._count(spoken, piece.usage)
                if spoken.calls.is_empty:
                    raise ModelFailure(piece.text, error=piece.error, status=piece.status, request_id=piece.request_id)
            case AnswerRestarted():
                pass

    def _block(self, block: dict[str, Any], spoken: PartialAnswer) -> None:
        self._tally.first_block = self._tally.first_block or time.monotonic()
        spoken.partial = ""
        if block.get("type") != "tool_use":
            self._teller.block(spoken, block)
            return
        toolbox = self._house.toolbox
        call = toolbox.prepare(block)
        self._teller.block(spoken, call.block)
        spoken.calls.begin(call, is_shared=toolbox.is_concurrent(call, self._house.policy()))

    def _frame(self, data: dict[str, Any], spoken: PartialAnswer) -> None:
        delta = data.get("delta")
        if isinstance(delta, dict) and delta.get("type") == "text_delta":
            spoken.partial += str(delta.get("text") or "")
        if self._house.shows_frames:
            self._teller.frame(data)

    def _count(self, spoken: PartialAnswer, usage: dict[str, Any]) -> None:
        self._tally.add(usage)
        self._house.count(spoken.model, usage)
