"""What a turn tells its host: an event for each thing that happens, counted where the result counts it."""

from __future__ import annotations

from typing import Any

from bridle.agent.conversation.partial_answer import REJECTED, REJECTED_DETAIL, PartialAnswer
from bridle.agent.conversation.turn_host import TurnHost
from bridle.agent.conversation.turn_result import Ending, Turn
from bridle.agent.model.api.stream_pieces import Retrying, ThinkingProgress
from bridle.agent.sessions.session import new_uuid
from bridle.agent.stdio import output_events
from bridle.agent.tools.contract.tool import ToolResult, as_block
from bridle.agent.tools.toolbox import FinishedCall, ToolCall
from bridle.errors import ModelFailure
from bridle.ground import clock


class TurnEvents:
    """Prints the events of one turn."""

    def __init__(self, house: TurnHost, tally: Turn) -> None:
        self._house, self._tally = house, tally

    def system(self, subtype: str, fields: dict[str, Any]) -> None:
        """The program says something about itself."""
        self._house.emit(output_events.system(subtype, fields, session_id=self._house.session_id, uuid=new_uuid()))

    def retrying(self, piece: Retrying) -> None:
        """A request is tried again."""
        fields = {"attempt": piece.attempt, "max_retries": piece.max_retries, "retry_delay_ms": piece.delay_ms}
        self.system("api_retry", {**fields, "error_status": piece.status, "error": piece.error})

    def thought(self, piece: ThinkingProgress) -> None:
        """The model thinks."""
        fields = {"estimated_tokens": piece.estimated_tokens, "estimated_tokens_delta": piece.delta}
        self.system("thinking_tokens", fields)

    def block(self, spoken: PartialAnswer, block: dict[str, Any]) -> None:
        """The model finished a block."""
        event_id = new_uuid()
        spoken.blocks.append(block)
        spoken.uuids.append(event_id)
        self._house.emit(
            output_events.assistant(
                spoken.message,
                block,
                session_id=self._house.session_id,
                uuid=event_id,
                request_id=spoken.request_id,
                is_final=spoken.is_final,
            )
        )

    def frame(self, data: dict[str, Any]) -> None:
        """A piece of an answer came."""
        ttft = None
        if data.get("type") == "message_start" and self._tally.first_byte is not None:
            ttft = round((self._tally.first_byte - self._tally.started) * 1000)
        self._house.emit(output_events.frame(data, session_id=self._house.session_id, uuid=new_uuid(), ttft_ms=ttft))

    def result(self, done: FinishedCall) -> str:
        """A call has its result; gives the id of the event."""
        answer, call = done.answer, done.call
        if done.is_denied:
            denial = {"tool_name": call.name, "tool_use_id": call.call_id, "tool_input": call.arguments}
            self._tally.denials.append(denial)
        block = output_events.tool_result(
            call.call_id, answer.content, is_error=answer.is_error, names_success=answer.names_success
        )
        event_id = self._user([block], detail=answer.detail)
        for item in answer.follow_up:
            self._user([as_block(item)], is_synthetic=True)
        return event_id

    def say(self, text: str, *, is_synthetic: bool) -> None:
        """The program says something to the model, on the user's side."""
        event_id = self._user([{"type": "text", "text": text}], is_synthetic=is_synthetic)
        self._house.ledger.told(text, event_id, is_meta=is_synthetic)

    def in_its_place(self, failure: ModelFailure, *, stop_reason: str, details: dict[str, Any] | None = None) -> Ending:
        """The model gave no answer: words that say why take its place."""
        message = output_events.synthetic_message(
            failure.text, message_id=new_uuid(), stop_reason=stop_reason, stop_details=details
        )
        event_id, session_id = new_uuid(), self._house.session_id
        self._house.emit(
            output_events.synthetic(
                message, session_id=session_id, uuid=event_id, error=failure.error, request_id=failure.request_id
            )
        )
        self._house.ledger.failed(message, event_id, failure)
        return Ending(
            text=failure.text,
            is_error=True,
            stop_reason=stop_reason,
            terminal_reason=failure.terminal_reason,
            api_error_status=failure.status,
        )

    def _user(self, content: list[dict[str, Any]], *, detail: Any = None, is_synthetic: bool = False) -> str:
        self._tally.user_events += 1
        event_id = new_uuid()
        self._house.emit(
            output_events.user(
                content,
                session_id=self._house.session_id,
                uuid=event_id,
                timestamp=clock.iso(clock.now()),
                detail=detail,
                is_synthetic=is_synthetic,
            )
        )
        return event_id


def rejected(call: ToolCall) -> FinishedCall:
    """A call that an interruption stopped."""
    return FinishedCall(call, ToolResult(REJECTED, detail=REJECTED_DETAIL, is_error=True))
