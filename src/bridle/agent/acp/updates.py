"""Translates the events of a run into updates of the Agent Client Protocol. Pure."""

from __future__ import annotations

from typing import Any

from bridle.agent.acp.tool_cards import call_card, result_card
from bridle.wire.events.loose_json import JsonObject

_PLAN_TOOL = "TodoWrite"
_PLAN_STATUSES = ("pending", "in_progress", "completed")
# Texts in the user's messages that the user did not write.
_NOT_TYPED = ("<system-reminder>", "<command-name>", "<command-message>", "<local-command-", "Caveat: ")


class Updates:
    """The updates of one session; it remembers which text was already sent in pieces."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._streamed: set[str] = set()
        self._plan_calls: set[str] = set()
        self._message_id = ""

    def of_event(self, event: JsonObject) -> list[JsonObject]:
        """Return the updates of an event."""
        match event:
            case {"type": "stream_event", "event": dict(frame)} if not event.get("parent_tool_use_id"):
                return self._of_frame(frame)
            case {"type": "assistant", "message": {"content": list(blocks)} as message}:
                return self._of_answer(message, blocks, event)
            case {"type": "user", "message": {"content": list(blocks)}} if not event.get("isReplay"):
                return [update for block in blocks for update in self._of_result(block, event.get("tool_use_result"))]
            case {"type": "system", "subtype": "status", "permissionMode": str(mode)}:
                return [{"sessionUpdate": "current_mode_update", "currentModeId": mode}]
        return []

    def of_history(self, message: JsonObject) -> list[JsonObject]:
        """Return the updates that show a message of an earlier process."""
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") == "assistant":
            return [update for block in blocks for update in self._of_block(block)]
        if message.get("role") != "user":
            return []
        shown: list[JsonObject] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                shown += self._of_result(block, None)
            elif block.get("type") == "text" and not block["text"].lstrip().startswith(_NOT_TYPED):
                shown.append(_chunk("user_message_chunk", block["text"]))
        return shown

    def _of_frame(self, frame: JsonObject) -> list[JsonObject]:
        match frame:
            case {"type": "message_start", "message": {"id": str(message_id)}}:
                self._message_id = message_id
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}} if text:
                self._streamed.add(self._message_id)
                return [_chunk("agent_message_chunk", text)]
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}} if text:
                self._streamed.add(self._message_id)
                return [_chunk("agent_thought_chunk", text)]
        return []

    def _of_answer(self, message: JsonObject, blocks: list[Any], event: JsonObject) -> list[JsonObject]:
        if event.get("error"):
            return []  # the response to the prompt has it
        is_shown = message.get("id") in self._streamed or bool(event.get("parent_tool_use_id"))
        texts = ("text", "thinking")
        return [
            update
            for block in blocks
            if not (is_shown and block.get("type") in texts)
            for update in self._of_block(block)
        ]

    def _of_block(self, block: JsonObject) -> list[JsonObject]:
        match block:
            case {"type": "text", "text": str(text)} if text:
                return [_chunk("agent_message_chunk", text)]
            case {"type": "thinking", "thinking": str(text)} if text:
                return [_chunk("agent_thought_chunk", text)]
            case {"type": "tool_use", "id": str(call_id), "name": str(tool), "input": dict(arguments)}:
                if tool == _PLAN_TOOL:
                    self._plan_calls.add(call_id)
                    return _plan(arguments)
                return [{"sessionUpdate": "tool_call", **call_card(call_id, tool, arguments, self._cwd)}]
        return []

    def _of_result(self, block: Any, detail: Any) -> list[JsonObject]:
        match block:
            case {"type": "tool_result", "tool_use_id": str(call_id)} if call_id not in self._plan_calls:
                return [{"sessionUpdate": "tool_call_update", **result_card(call_id, block, detail, self._cwd)}]
        return []


def _chunk(kind: str, text: str) -> JsonObject:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def _plan(arguments: JsonObject) -> list[JsonObject]:
    todos = arguments.get("todos")
    entries = [
        {
            "content": str(todo.get("content", "")),
            "priority": "medium",
            "status": todo["status"] if todo.get("status") in _PLAN_STATUSES else "pending",
        }
        for todo in (todos if isinstance(todos, list) else [])
        if isinstance(todo, dict)
    ]
    return [{"sessionUpdate": "plan", "entries": entries}]
