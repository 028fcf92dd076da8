"""Receives one answer of the model: prints its blocks and starts its tool calls as they come."""

from __future__ import annotations

import asyncio
import time

from msgspec import UNSET

from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.conversation.running_calls import RunningCalls
from bridle.agent.conversation.turn_result import TurnCounts
from bridle.agent.model.api.question import Block, Usage
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
from bridle.agent.sessions.api_messages import AnswerHead, block_type, text_block
from bridle.agent.stdio import output_events
from bridle.agent.stdio.output_events import ApiRetry, Status, StreamEvent, ThinkingTokens
from bridle.agent.tools.toolbox import FinishedCall, Toolbox, ToolCall
from bridle.errors import ModelFailure


class AnswerReceiver:
    """Receives the answers of one turn, one after the other."""

    def __init__(
        self,
        log: MessageLog,
        requests: ModelRequests,
        setup: ModelSetup,
        toolbox: Toolbox,
        counts: TurnCounts,
        *,
        shows_frames: bool,
    ) -> None:
        self._log, self._requests, self._setup, self._toolbox = log, requests, setup, toolbox
        self._counts, self._shows_frames = counts, shows_frames
        self.answer: PartialAnswer | None = None
        """The answer in progress, or the last one whose results are not in the log yet."""
        self.has_fallen_back = False
        """Whether another model answers the rest of the turn."""

    async def receive(self, tool_choice: dict[str, str] | None) -> PartialAnswer:
        """Send one request and receive its answer. Raises ModelFailure if the request fails."""
        self._counts.requests += 1
        if self._shows_frames:
            self._log.emit(Status(status="requesting"))
        answer = self._new_answer()
        started = time.monotonic()
        stream = self._requests.answer(tool_choice)
        try:
            async for piece in stream:
                self._counts.first_request = self._counts.first_request or started
                if not isinstance(piece, AnswerRestarted):
                    self._take(piece, answer)
                elif answer.calls.is_empty:
                    answer = self._new_answer()
                else:
                    break  # a call that was started must not be started again: the answer ends with it
                if isinstance(piece, BlockFinished):
                    await asyncio.sleep(0)  # a call starts before the next block is printed
                await self._log.wait_for_reader()
        finally:
            self._requests.totals.api_ms += (time.monotonic() - started) * 1000
            await stream.aclose()
        return answer

    def keep_partial(self, answer: PartialAnswer) -> None:
        """Add an interrupted answer to the log as far as it was received, and its usage to the sums."""
        if not answer.is_counted and isinstance(answer.head.usage, dict):
            self._count(answer, answer.head.usage)
        if answer.ended is None and answer.partial_text.strip():
            self._block(text_block(answer.partial_text), answer)
        self._log.answer(answer)

    def _new_answer(self) -> PartialAnswer:
        self.answer = PartialAnswer(RunningCalls(self._run_call))
        return self.answer

    async def _run_call(self, call: ToolCall) -> FinishedCall:
        done = await self._toolbox.run(call, self._setup.current_policy)
        self._log.session.set_cwd(self._setup.shell_folder())
        return done

    def _take(self, piece: AnswerPiece, answer: PartialAnswer) -> None:
        match piece:
            case AnswerStarted():
                answer.head, answer.request_id = AnswerHead.of(piece.message), piece.request_id
                answer.is_final = piece.final
                self._counts.first_byte = self._counts.first_byte or time.monotonic()
            case BlockFinished():
                self._block(piece.block, answer)
            case StreamFrame():
                self._frame(piece, answer)
            case ThinkingProgress():
                event = ThinkingTokens(estimated_tokens=piece.estimated_tokens, estimated_tokens_delta=piece.delta)
                self._log.emit(event)
            case AnswerFinished():
                answer.ended = piece
                self._counts.stop_reason = piece.stop_reason
                self._count(answer, piece.usage)
            case Retrying():
                self._retry(piece)
            case ModelFallback():
                self._fall_back(piece)
            case AnswerBroken():
                self._count(answer, piece.usage)
                if answer.calls.is_empty:
                    raise ModelFailure(piece.text, error=piece.error, status=piece.status, request_id=piece.request_id)
            case AnswerRestarted():
                pass

    def _block(self, block: Block, answer: PartialAnswer) -> None:
        self._counts.first_block = self._counts.first_block or time.monotonic()
        answer.partial_text = ""
        if block_type(block) != "tool_use":
            if not _is_blank(block):
                self._log.answer_block(answer, block)
            return
        block = {**block, "id": self._log.new_call_id(block.get("id"))}
        call = self._toolbox.prepare(block, self._setup.current_policy)
        self._log.answer_block(answer, call.block)
        answer.calls.begin(call)

    def _frame(self, frame: StreamFrame, answer: PartialAnswer) -> None:
        answer.partial_text += frame.text
        if self._shows_frames:
            is_start = frame.type == "message_start"
            ttft_ms = self._counts.ms_until(self._counts.first_byte) if is_start else UNSET
            self._log.emit(StreamEvent(event=frame.data, ttft_ms=ttft_ms))

    def _retry(self, piece: Retrying) -> None:
        self._log.emit(
            ApiRetry(
                attempt=piece.attempt,
                max_retries=piece.max_retries,
                retry_delay_ms=piece.delay_ms,
                error_status=piece.status,
                error=piece.error,
            )
        )

    def _fall_back(self, piece: ModelFallback) -> None:
        self._setup.model, self.has_fallen_back = piece.model, True
        self._log.emit(
            output_events.ModelFallback(
                trigger=piece.trigger,
                original_model=piece.original,
                fallback_model=piece.fallback,
                content=piece.content,
            )
        )

    def _count(self, answer: PartialAnswer, usage: Usage) -> None:
        answer.is_counted = True
        self._counts.add(usage)
        self._requests.count(answer.model, usage)


def _is_blank(block: Block) -> bool:
    """Return whether a block is a text without a visible character; endpoints refuse it in a history."""
    return block_type(block) == "text" and not str(block.get("text") or "").strip()
