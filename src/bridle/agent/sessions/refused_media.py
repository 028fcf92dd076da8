"""Media that an endpoint refused: the mark of it in a transcript, and the conversation without it. Pure.

A refused picture or document stays in the line that has it; an error line after it says that it was removed. A session
that is resumed, by this program or by Claude Code, does not send it again.
"""

from __future__ import annotations

from typing import Any

import msgspec

_MARK = " in the conversation could not be processed and was removed."
_NAMES = {"image": "an image", "document": "a document"}
_REMOVED = {"type": "text", "text": "(media removed — rejected by API)"}


def removal_text(kind: str) -> str:
    """Return the text of the error line for a block type: `image` or `document`."""
    return f"API Error: {_NAMES[kind]}{_MARK} Re-read the file with a different approach if you still need it."


def removed_kind(content: bytes) -> str | None:
    """Return the block type that an error line says was removed; None for another error."""
    text = content.decode("utf-8", "replace")
    return next((kind for kind, name in _NAMES.items() if f"{name}{_MARK}" in text), None)


def without_media(content: bytes, kind: str) -> bytes | None:
    """Return the content of a line without its media of a type; None if it has none."""
    blocks = msgspec.json.decode(content)
    changed = _without(blocks, kind)
    return None if changed == blocks else msgspec.json.encode(changed)


def _without(blocks: Any, kind: str) -> Any:
    if not isinstance(blocks, list):
        return blocks
    return [_block_without(block, kind) if isinstance(block, dict) else block for block in blocks]


def _block_without(block: dict[str, Any], kind: str) -> dict[str, Any]:
    if block.get("type") == kind:
        return _REMOVED
    return {**block, "content": _without(block["content"], kind)} if "content" in block else block
