"""Messages as an endpoint accepts them: roles alternate, every call has its answer, nothing is empty.

Whatever a transcript holds (a crash between a call and its answer, lines of another program) becomes such a list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

Block = dict[str, Any]
Message = dict[str, Any]

NO_ANSWER = "The call was interrupted, and no result of it was kept. Check what it did before you rely on it."

_THOUGHTS = ("thinking", "redacted_thinking")
# What only the other side can say.
_MODELS_OWN = (*_THOUGHTS, "tool_use", "server_tool_use")
_USERS_OWN = ("tool_result", "image", "document")


def as_messages(lines: Iterable[tuple[str, bytes]]) -> list[Message]:
    """Make messages of lines, each with its role and its content as JSON."""
    turns: list[tuple[str, list[Block]]] = []
    for role, content in lines:
        foreign = _USERS_OWN if role == "assistant" else _MODELS_OWN
        blocks = [block for block in _blocks(content) if block["type"] not in foreign]
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    return mended(turns)


def mended(turns: list[tuple[str, list[Block]]]) -> list[Message]:
    """Answer what was never answered, and drop what belongs to nothing."""
    messages: list[Message] = []
    seen: set[str] = set()
    results = _results(turns)
    waiting: list[str] = []
    for role, blocks in turns:
        if role == "assistant":
            kept = _answer(blocks, seen)
            if kept and messages:  # a conversation begins with the user
                waiting += _calls(kept)
                add(messages, "assistant", kept)
            continue
        said = [block for block in blocks if block.get("type") != "tool_result"]
        answers = [results.get(call) or _no_answer(call) for call in _in_order(waiting, blocks)]
        waiting = []
        add(messages, "user", answers + said)
    if waiting:
        add(messages, "user", [results.get(call) or _no_answer(call) for call in waiting])
    return messages


def add(messages: list[Message], role: str, content: str | list[Block]) -> None:
    """Put content at the end of a conversation; it joins the last message where that has the same role."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        last = messages[-1]["content"]
        before = [{"type": "text", "text": last}] if isinstance(last, str) else last
        messages[-1] = {"role": role, "content": [*before, *blocks]}
    else:
        messages.append({"role": role, "content": list(blocks)})


def _blocks(content: bytes) -> list[Block]:
    try:
        value = msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    if isinstance(value, str):
        value = [{"type": "text", "text": value}]
    if not isinstance(value, list):
        return []
    return [_tidied(block) for block in value if _is_sendable(block)]


def _tidied(block: Block) -> Block:
    """The block without what endpoints refuse inside the answer of a tool."""
    if block["type"] != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, list):
        content = [part for part in content if _is_sendable(part)]
    if not isinstance(content, str | list) or (not content and block.get("is_error")):
        content = "(nothing was printed)"
    return block | {"content": content}


def _is_sendable(block: object) -> bool:
    """Whether an endpoint takes the block: it has a type, and what that type cannot do without."""
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


def _has_text(block: Block, name: str) -> bool:
    return isinstance(value := block.get(name), str) and bool(value)


def _results(turns: list[tuple[str, list[Block]]]) -> dict[str, Block]:
    """The answer to each call; the first one counts."""
    results: dict[str, Block] = {}
    for role, blocks in turns:
        for block in blocks if role == "user" else ():
            if block.get("type") == "tool_result":
                results.setdefault(block["tool_use_id"], block)
    return results


def _answer(blocks: list[Block], seen: set[str]) -> list[Block]:
    """What of an answer can be sent again: each call once, and no thought that nothing follows."""
    kept: list[Block] = []
    for block in blocks:
        if block["type"] == "tool_use":
            if block["id"] in seen:
                continue
            seen.add(block["id"])
        kept.append(block)
    while kept and kept[-1]["type"] in _THOUGHTS:
        kept.pop()
    return kept


def _calls(blocks: list[Block]) -> list[str]:
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _in_order(waiting: list[str], blocks: list[Block]) -> list[str]:
    """The calls that wait for an answer: first those answered here, in the order of the answers, then the others."""
    here = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    answered = [call for call in dict.fromkeys(here) if call in waiting]
    return [*answered, *(call for call in waiting if call not in answered)]


def _no_answer(call: str) -> Block:
    return {"type": "tool_result", "content": NO_ANSWER, "is_error": True, "tool_use_id": call}
