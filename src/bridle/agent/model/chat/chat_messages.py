"""Translates messages of the Messages API into messages of a chat. Pure.

A tool result becomes a message of its own, its images follow as a message of the user, and thoughts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.agent.model.api.api_json import encode_json
from bridle.agent.model.api.question import Block, Message
from bridle.agent.model.api.stream_pieces import UNPARSED, JsonObject

_NO_PDF = "[a PDF document was here; this endpoint takes text and images only]"


def chat_messages(
    system: Iterable[Block], messages: Iterable[Message], names: Mapping[str, str] | None = None
) -> list[JsonObject]:
    """Return the messages of a chat request; `names` maps names of tools to the names that are sent."""
    head = "\n\n".join(block.get("text", "") for block in system if block.get("text"))
    chat: list[JsonObject] = [{"role": "system", "content": head}] if head else []
    for message in messages:
        blocks = _blocks(message["content"])
        if message["role"] == "assistant":
            _add_answer(chat, blocks, names or {})
        else:
            _add_user(chat, blocks, is_reminder=message["role"] == "system")
    return chat


def _add_answer(chat: list[JsonObject], blocks: list[Block], names: Mapping[str, str]) -> None:
    text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    calls = [_call(block, names) for block in blocks if block.get("type") == "tool_use"]
    if text or calls:
        # Some chat templates print a missing text as "None", so it is never null.
        chat.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})


def _call(block: Block, names: Mapping[str, str]) -> JsonObject:
    name, arguments = str(block.get("name", "")), block.get("input") or {}
    unparsed = arguments.get(UNPARSED) if isinstance(arguments, dict) else None
    raw = unparsed.get("raw") if isinstance(unparsed, dict) else None
    # Servers parse the arguments of earlier calls: what the model wrote is sent as a text inside of an object.
    text = encode_json(arguments if raw is None else {"unparsed": raw}).decode()
    return {"id": block.get("id"), "type": "function", "function": {"name": names.get(name, name), "arguments": text}}


def _add_user(chat: list[JsonObject], blocks: list[Block], *, is_reminder: bool) -> None:
    parts: list[JsonObject] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            chat.append(_result(block))
            parts += _images_of(block)
    for block in blocks:
        if block.get("type") != "tool_result":
            parts += _parts(block, is_reminder=is_reminder)
    if not parts:
        return
    if chat and chat[-1]["role"] == "user":  # many chat templates accept no two messages of the user in a row
        parts = [*_as_parts(chat.pop()["content"]), *parts]
    chat.append({"role": "user", "content": _content(parts)})


def _result(block: Block) -> JsonObject:
    parts = [part for inner in _blocks(block.get("content") or "") for part in _parts(inner)]
    text = "\n".join(part["text"] if part["type"] == "text" else "[image: see the next message]" for part in parts)
    if block.get("is_error") and not text.lstrip("<").lower().startswith(("error", "tool_use_error")):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text}


def _images_of(block: Block) -> list[JsonObject]:
    inner = [part for item in _blocks(block.get("content") or "") for part in _parts(item)]
    images = [part for part in inner if part["type"] == "image_url"]
    label = {"type": "text", "text": f"[image of the result of {block.get('tool_use_id')}]"}
    return [label, *images] if images else []


def _parts(block: Block, *, is_reminder: bool = False) -> list[JsonObject]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [_text(f"<system-reminder>\n{text}\n</system-reminder>" if is_reminder else text)]
        case {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}:
            return [_image(f"data:{media_type};base64,{data}")]
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return [_image(url)]
        case {"type": "document", "source": {"type": "text", "data": str(text)}} if text:
            return [_text(text)]
        case {"type": "document"}:
            return [_text(_NO_PDF)]
    return []


def _content(parts: list[JsonObject]) -> str | list[JsonObject]:
    """Return a plain text where there is nothing else: not every server takes parts."""
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _as_parts(content: Any) -> list[JsonObject]:
    return [_text(content)] if isinstance(content, str) else content


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _image(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def _blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [_text(content)]
    return [block for block in content if isinstance(block, dict)]
