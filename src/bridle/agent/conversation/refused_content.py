"""Removes from a history what an endpoint refused: a picture, a document, or thoughts. Pure.

The endpoint refuses the whole request for one block, and every later request that has it.
"""

from __future__ import annotations

from bridle.agent.model.api.question import Block, Message
from bridle.agent.sessions.api_messages import block_type, blocks_of, text_block
from bridle.agent.sessions.valid_history import THOUGHTS
from bridle.errors import ModelFailure

_BAD_REQUEST = 400
# What of an endpoint's message goes into the note for the model.
_REASON_CHARACTERS = 200


def without_refused(messages: list[Message], failure: ModelFailure) -> list[Message] | None:
    """Return the messages without the content that a failed request was refused for, or None.

    Of several pictures or documents those of the newest message go: the older ones were accepted before. Each call
    removes something, so that a request is not repeated forever.
    """
    kinds = _refused_kinds(failure)
    if kinds is None:
        return None
    places = [at for at, message in enumerate(messages) if _has(message, kinds)]
    if not places:
        return None
    affected = places if kinds == THOUGHTS else places[-1:]
    changed = list(messages)
    for at in affected:
        blocks = _replace(blocks_of(messages[at]["content"]), kinds, failure.text[:_REASON_CHARACTERS])
        changed[at] = {"role": messages[at]["role"], "content": blocks}
    return changed


def refused_media(failure: ModelFailure) -> str | None:
    """Return the type of media that an error is about; None if it is about something else."""
    kinds = _refused_kinds(failure)
    return kinds[0] if kinds is not None and kinds != THOUGHTS else None


def _refused_kinds(failure: ModelFailure) -> tuple[str, ...] | None:
    """Return the block types that an error is about."""
    text = failure.text.lower()
    if failure.status != _BAD_REQUEST:
        return None
    if "thinking" in text and ("signature" in text or "cannot be modified" in text):
        return THOUGHTS
    if "image" in text:
        return ("image",)
    return ("document",) if "pdf" in text or "document" in text else None


def _has(message: Message, kinds: tuple[str, ...]) -> bool:
    return any(_is_or_has(block, kinds) for block in blocks_of(message["content"]))


def _is_or_has(block: Block, kinds: tuple[str, ...]) -> bool:
    inner = block.get("content")
    parts = inner if isinstance(inner, list) else []
    return block_type(block) in kinds or any(isinstance(part, dict) and _is_or_has(part, kinds) for part in parts)


def _replace(blocks: list[Block], kinds: tuple[str, ...], reason: str) -> list[Block]:
    found: list[Block] = []
    for block in blocks:
        if block_type(block) not in kinds:
            inner = block.get("content")
            is_changed = isinstance(inner, list) and _is_or_has(block, kinds)
            found.append({**block, "content": _replace(inner or [], kinds, reason)} if is_changed else block)
        elif kinds != THOUGHTS:
            name = "picture" if block_type(block) == "image" else "document"
            note = f"[The {name} that was here was removed, because the endpoint refused it: {reason}]"
            found.append(text_block(note))
    return found
