"""Makes a history that the Messages API accepts from any history.

What goes out keeps these rules, whatever goes in: the first message is the user's, and no two answers follow each other
(messages of the role `system` do not count); every content has a block, and no text is blank; a thought has its
signature and is never the last block; every call has an id of its own and exactly one result, at the beginning of the
next message. One block that breaks a rule would make this request and every later one fail.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, cast

from bridle.agent.model.api.question import Block, Message

NO_RESULT = "The call was interrupted and its result was lost. Check what it did before you rely on it."
NO_CONTENT = "(no content)"
"""Replaces a user message that has nothing to send, where roles would not alternate without it."""
NO_OUTPUT = "(no output)"
_PLACEHOLDER: Block = {"type": "text", "text": NO_CONTENT}

THOUGHTS = ("thinking", "redacted_thinking")
# Block types that only one side of a conversation may send.
_ASSISTANT_ONLY = (*THOUGHTS, "tool_use", "server_tool_use")
_USER_ONLY = ("tool_result", "image", "document")
_SERVER_CALL = "server_tool_use"
# The API accepts only these characters in the id and the name of a call.
_NOT_IN_NAME = r"[^A-Za-z0-9_-]"


def valid_history(messages: Iterable[Message], *, for_request: bool = True) -> list[Message]:
    """Return the messages as the API accepts them; the input is not changed.

    A history `for_request` ends with a message of the user; one to which a prompt is added later need not.
    """
    cleaned = [(message["role"], _clean(message["role"], message["content"])) for message in messages]
    builder = _Builder(_results_elsewhere(cleaned))
    for role, blocks in cleaned:
        builder.add(role, blocks)
    return builder.finish(for_request=for_request)


def is_sendable(block: object) -> bool:
    """Return whether an endpoint accepts the block: it has a type, and the fields that this type requires."""
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        return False
    if kind == "text":
        return isinstance(text := block.get("text"), str) and bool(text.strip())
    if kind == "thinking":
        return isinstance(block.get("thinking"), str) and _has_text(block, "signature")
    if kind == "tool_use":
        return _has_text(block, "id") and _has_text(block, "name") and isinstance(block.get("input"), dict)
    if kind == "tool_result":
        return _has_text(block, "tool_use_id")
    return True


class _Builder:
    """The messages so far."""

    def __init__(self, results: dict[str, Block]) -> None:
        self._results = results
        self._messages: list[Message] = []
        self._has_user = False
        self._ids: set[str] = set()
        self._pending: list[tuple[str, str]] = []
        """The calls without a result: the id of each as it came, and as it is sent."""
        self._notes: list[Message] = []
        """System messages that wait for the results of the calls before them."""

    def add(self, role: str, blocks: list[Block]) -> None:
        if role == "assistant":
            self._answer(blocks)
        elif role == "user":
            self._has_user = True
            self._user(blocks)
        elif blocks and self._messages:  # the first message is the user's
            note: Message = {"role": "system", "content": blocks}
            (self._notes if self._pending else self._messages).append(note)

    def finish(self, *, for_request: bool) -> list[Message]:
        if self._pending:
            self._user([])
        if for_request and self._needs_user:
            self._messages.append({"role": "user", "content": [_PLACEHOLDER]})
        return self._messages

    def _answer(self, blocks: list[Block]) -> None:
        blocks = _without_last_thoughts(_paired_server_calls(blocks))
        if not blocks or not self._has_user:  # the first message is the user's
            return
        if self._pending:
            self._user([])
        if self._needs_user:
            self._messages.append({"role": "user", "content": [_PLACEHOLDER]})
        answer: list[Block] = []
        for block in blocks:
            if block["type"] == "tool_use":
                self._pending.append((block["id"], self._new_id(block["id"])))
                name = re.sub(_NOT_IN_NAME, "_", block["name"])
                block = {**block, "id": self._pending[-1][1], "name": name}
            answer.append(block)
        self._messages.append({"role": "assistant", "content": answer})

    def _user(self, blocks: list[Block]) -> None:
        content = [*self._pending_results(blocks), *(block for block in blocks if block["type"] != "tool_result")]
        if content and self._messages and self._messages[-1]["role"] == "user":
            content = [*cast("list[Block]", self._messages.pop()["content"]), *content]
        if content:
            self._messages.append({"role": "user", "content": content})
        self._messages += self._notes
        self._notes = []

    def _pending_results(self, blocks: list[Block]) -> list[Block]:
        """Return a result for each pending call: those of this message in its order, then the others."""
        here: dict[str, deque[Block]] = {}
        for block in blocks:
            if block["type"] == "tool_result":
                here.setdefault(block["tool_use_id"], deque()).append(block)
        order = list(here)
        pending, self._pending = self._pending, []
        pending.sort(key=lambda call: order.index(call[0]) if call[0] in here else len(order))
        return [self._result(came, sent, here.get(came)) for came, sent in pending]

    def _result(self, came: str, sent: str, here: deque[Block] | None) -> Block:
        result = here.popleft() if here else self._results.get(came)
        if result is not None:
            return result if came == sent else {**result, "tool_use_id": sent}
        return {"type": "tool_result", "content": NO_RESULT, "is_error": True, "tool_use_id": sent}

    def _new_id(self, came: str) -> str:
        """Return an id that no other call has."""
        base = re.sub(_NOT_IN_NAME, "_", came)
        sent, number = base, 1
        while sent in self._ids:
            number += 1
            sent = f"{base}_{number}"
        self._ids.add(sent)
        return sent

    @property
    def _needs_user(self) -> bool:
        """Whether only a message of the user can follow."""
        roles = (message["role"] for message in reversed(self._messages))
        return next((role for role in roles if role != "system"), "assistant") == "assistant"


def _clean(role: str, content: Any) -> list[Block]:
    """Return the blocks that an endpoint accepts of this role."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    foreign = _USER_ONLY if role == "assistant" else _ASSISTANT_ONLY
    return [_without_empty_parts(block) for block in content if is_sendable(block) and block["type"] not in foreign]


def _without_empty_parts(block: Block) -> Block:
    """Return the block without the parts of a tool result that endpoints reject."""
    if block["type"] != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, list):
        content = [part for part in content if is_sendable(part)]
    if not isinstance(content, str | list) or (not content and block.get("is_error")):
        content = NO_OUTPUT
    return block if content == block.get("content") else {**block, "content": content}


def _results_elsewhere(messages: list[tuple[str, list[Block]]]) -> dict[str, Block]:
    """Return the result of each call whose id no other call has: a transcript may have it anywhere."""
    blocks = [block for _, blocks in messages for block in blocks]
    calls = Counter(block["id"] for block in blocks if block["type"] == "tool_use")
    results: dict[str, Block] = {}
    for block in blocks:
        if block["type"] == "tool_result" and calls[block["tool_use_id"]] == 1:
            results.setdefault(block["tool_use_id"], block)
    return results


def _without_last_thoughts(blocks: list[Block]) -> list[Block]:
    while blocks and blocks[-1]["type"] in THOUGHTS:
        blocks = blocks[:-1]
    return blocks


def _paired_server_calls(blocks: list[Block]) -> list[Block]:
    """Drop calls of the server's tools without a result, and such results without a call."""
    calls = {block.get("id") for block in blocks if block["type"] == _SERVER_CALL}
    results = {block.get("tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    both = calls & results
    return [
        block
        for block in blocks
        if (block["type"] != _SERVER_CALL or block.get("id") in both)
        and (not block["type"].endswith("_tool_result") or block.get("tool_use_id") in both)
    ]


def _has_text(block: Block, name: str) -> bool:
    return isinstance(value := block.get(name), str) and bool(value)
