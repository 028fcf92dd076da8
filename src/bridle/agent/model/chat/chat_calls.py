"""Collects the tool calls of a chat answer, which come in pieces. Pure.

Servers differ: some send no id, no index, or index 0 for every call; some send the arguments as an object, some repeat
the name in every piece, some send it in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from bridle.agent.model.api.api_json import encode_json
from bridle.agent.model.api.stream_pieces import JsonObject

# The Messages API requires a name; the answer to a call of this one tells the model what it did wrong.
NAMELESS = "unknown_tool"


class _Call(msgspec.Struct):
    """A call, as far as it has come."""

    index: int | None
    sent_id: str
    """The id of the server; empty without one."""
    name: str
    pieces: list[str]


class ChatCalls:
    """The calls of one answer."""

    def __init__(self, names: Mapping[str, str], used_ids: Collection[str], new_id: Callable[[], str]) -> None:
        """`names` maps sent names to tools, `used_ids` are those of the conversation, `new_id` makes another."""
        self._names, self._used_ids, self._new_id = names, set(used_ids), new_id
        self._calls: list[_Call] = []

    @property
    def is_empty(self) -> bool:
        return not self._calls

    def add(self, deltas: Any) -> None:
        """Add the `tool_calls` of one chunk; anything else in it is ignored."""
        for delta in deltas if isinstance(deltas, list) else []:
            if isinstance(delta, dict):
                self._add(delta)

    def blocks(self) -> list[tuple[JsonObject, str]]:
        """Return each call as the start of a block, and its arguments in JSON."""
        return [(self._block(call), _arguments(call)) for call in self._calls]

    def _add(self, delta: JsonObject) -> None:
        given = delta.get("function")
        function: JsonObject = given if isinstance(given, dict) else {}
        index, sent_id = delta.get("index"), delta.get("id")
        name, arguments = function.get("name"), function.get("arguments")
        piece = _Call(
            index if type(index) is int else None,
            sent_id if isinstance(sent_id, str) else "",
            name if isinstance(name, str) else "",
            [],
        )
        call = self._find_call(piece)
        if call is None:
            self._calls.append(call := piece)
        call.name = call.name if any(call.pieces) and call.name else _join_name(call.name, piece.name)
        if arguments is not None:
            call.pieces.append(arguments if isinstance(arguments, str) else encode_json(arguments).decode())

    def _find_call(self, piece: _Call) -> _Call | None:
        """Return the call that a piece belongs to; None if it begins one."""
        last = self._calls[-1] if self._calls else None
        if last is None:
            return None
        if piece.index is None:
            same = [call for call in self._calls if piece.sent_id and call.sent_id == piece.sent_id]
            return same[-1] if same else None if piece.sent_id or piece.name else last
        same = [call for call in self._calls if call.index == piece.index]
        if not same or (piece.sent_id and same[-1].sent_id and piece.sent_id != same[-1].sent_id):
            return None
        return same[-1]

    def _block(self, call: _Call) -> JsonObject:
        name = self._names.get(call.name, call.name) or NAMELESS
        return {"type": "tool_use", "id": self._unique_id(call.sent_id), "name": name, "input": {}}

    def _unique_id(self, sent_id: str) -> str:
        """Return an id that the Messages API accepts too, and that no other call of the conversation has."""
        own = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "_" for sign in sent_id)
        while not own or own in self._used_ids:
            own = self._new_id()
        self._used_ids.add(own)
        return own


def _join_name(name: str, more: str) -> str:
    """Return a name with its next piece, which may be the rest, the whole name again, or as much of it as is known."""
    return more if more.startswith(name) else name + more


def _arguments(call: _Call) -> str:
    """Return the arguments; some servers encode them twice, or send null for none."""
    text = "".join(call.pieces).strip()
    if text.startswith('"'):
        try:
            inner = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return text
        text = inner.strip() if isinstance(inner, str) else text
    return "" if text == "null" else text
