"""What was said: the messages for the next request, and the same in the transcript."""

from __future__ import annotations

from typing import Any

from bridle.agent.conversation.partial_answer import REJECTED, PartialAnswer
from bridle.agent.sessions.session import Noted, Session
from bridle.agent.stdio import output_events
from bridle.agent.tools.contract.tool import as_block
from bridle.agent.tools.toolbox import FinishedCall
from bridle.errors import ModelFailure

Content = str | list[dict[str, Any]]


class MessageLog:
    """The history of a session, in memory for the model and on the disk for whoever comes next."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.messages: list[dict[str, Any]] = list(session.history.messages)

    def prompt(self, content: Content, attached: list[str], *, permission_mode: str, uuid: str | None) -> Noted:
        """The user asks for something; the files that the words name go along."""
        self._add_user([*_blocks(content), *({"type": "text", "text": text} for text in attached)])
        return self.session.prompt(content, permission_mode=permission_mode, uuid=uuid)

    def command(self, shown: Content, body: str, *, typed: str, uuid: str | None) -> Noted:
        """The user typed a command: what it was, and the text that it stands for."""
        self._add_user([*_blocks(shown), {"type": "text", "text": body}])
        noted = self.session.command(shown, typed=typed, uuid=uuid)
        self.session.note([{"type": "text", "text": body}], is_meta=True)
        return noted

    def local(self, content: Content, *, typed: str, uuid: str | None) -> Noted:
        """The user typed a command that the program answers itself; the model does not hear of it."""
        return self.session.command(content, typed=typed, uuid=uuid)

    def heard(self, spoken: PartialAnswer) -> None:
        """The model answered."""
        if not spoken.blocks:
            return
        self.messages.append({"role": "assistant", "content": list(spoken.blocks)})
        message = dict(spoken.message)
        if spoken.ended is not None:
            message |= {
                "stop_reason": spoken.ended.stop_reason,
                "stop_sequence": spoken.ended.stop_sequence,
                "usage": spoken.ended.usage,
                "stop_details": spoken.ended.stop_details,
            }
        blocks = list(zip(spoken.uuids, spoken.blocks, strict=True))
        self.session.assistant(message, blocks, request_id=spoken.request_id)

    def answered(self, results: list[tuple[FinishedCall, str]], *, uuids_of_calls: dict[str, str]) -> None:
        """Tools answered. A call that has no answer, since it was stopped, gets words in its place."""
        blocks: list[dict[str, Any]] = []
        more: list[dict[str, Any]] = []
        for done, uuid in results:
            answer, call_id = done.answer, done.call.call_id
            block = output_events.tool_result(
                call_id, answer.content, is_error=answer.is_error, names_success=answer.names_success
            )
            blocks.append(block)
            self.session.tool_result(block, detail=answer.detail, source=uuids_of_calls[call_id], uuid=uuid)
            for item in answer.follow_up:
                more.append(as_block(item))
                self.session.note([more[-1]], is_meta=True, source_call=call_id)
        known = {block["tool_use_id"] for block in blocks}
        for block in self._last_calls():
            if block["id"] not in known:
                blocks.append(output_events.tool_result(block["id"], REJECTED, is_error=True, names_success=False))
        self._add_user(blocks + more)

    def told(self, text: str, uuid: str, *, is_meta: bool) -> None:
        """The program said something on the user's side."""
        block = {"type": "text", "text": text}
        self._add_user([block])
        self.session.note([block], is_meta=is_meta, uuid=uuid)

    def joined(self, content: Content, shown: str) -> None:
        """The user wrote while a turn was under way; `shown` is how the model is told."""
        self.messages.append({"role": "system", "content": shown})
        self.session.midturn(content)

    def noticed(self, text: str) -> None:
        """Something happened in the background while a turn was under way."""
        self.messages.append({"role": "system", "content": text})
        self.session.midturn(text)

    def failed(self, message: dict[str, Any], uuid: str, failure: ModelFailure) -> None:
        """The model could not be asked."""
        self.session.synthetic(
            message, uuid=uuid, request_id=failure.request_id, error=failure.error, status=failure.status
        )

    async def keep(self) -> None:
        """Make all of it durable."""
        await self.session.save()

    def _last_calls(self) -> list[dict[str, Any]]:
        last = self.messages[-1] if self.messages else {}
        if last.get("role") != "assistant":
            return []
        return [block for block in last["content"] if block.get("type") == "tool_use"]

    def _add_user(self, blocks: list[dict[str, Any]]) -> None:
        """Say something on the user's side; what follows on the user's own words joins them."""
        if self.messages and self.messages[-1]["role"] == "user":
            content = self.messages[-1]["content"]
            self.messages[-1] = {"role": "user", "content": [*_blocks(content), *blocks]}
        else:
            self.messages.append({"role": "user", "content": blocks})


def _blocks(content: Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
