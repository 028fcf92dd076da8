"""Content blocks of assistant and user messages.

A block of an unknown type is kept whole as an UnknownBlock.
"""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
from typing import Any, ClassVar, TypeAlias, get_args

import msgspec

from bridle.wire.events.loose_json import JsonObject, from_json, to_raw, type_of


class Block(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", eq=False, gc=False):
    """One block of a message."""

    always: ClassVar[frozenset[str]] = frozenset()  # fields that are encoded even when they are null

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash((type(self), repr(_values(self))))


class Text(Block, frozen=True, kw_only=True, tag="text", eq=False, gc=False):
    """Text for the user."""

    text: str = ""


class Thinking(Block, frozen=True, kw_only=True, tag="thinking", eq=False, gc=False):
    """The model's reasoning, with the signature needed to send it back."""

    thinking: str = ""
    signature: str | None = None


class ToolUse(Block, frozen=True, kw_only=True, tag="tool_use", eq=False, gc=False):
    """A tool call; its input is decoded on demand."""

    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def arguments(self) -> JsonObject:
        """The decoded input; empty if it is not an object."""
        value = from_json(self.input)
        return value if isinstance(value, dict) else {}


class Image(Block, frozen=True, kw_only=True, tag="image", eq=False, gc=False):
    """An image; its source has the bytes in base64."""

    source: msgspec.Raw = msgspec.Raw(b"{}")


class ToolResult(Block, frozen=True, kw_only=True, tag="tool_result", eq=False, gc=False):
    """A tool result; its content, a string or a list of blocks, is decoded on demand."""

    tool_use_id: str = ""
    content: msgspec.Raw = msgspec.Raw(b'""')
    is_error: bool | None = None

    @property
    def value(self) -> Any:
        """The decoded content, in the form in which it was sent."""
        return from_json(self.content)

    @property
    def text(self) -> str:
        """The content as text: the string itself, or its text blocks joined by newlines."""
        return plain_text(self.value)


class UnknownBlock(Block, frozen=True, kw_only=True, tag="(unknown)", eq=False, gc=False):
    """A block of an unknown type, or one that is not an object."""

    value: Any = None

    @property
    def kind(self) -> str:
        """The block's `type`, or an empty string."""
        return type_of(self.value)


KnownBlock: TypeAlias = Text | Thinking | ToolUse | ToolResult | Image
AnyBlock: TypeAlias = KnownBlock | UnknownBlock
KNOWN_BLOCKS: dict[str, type[KnownBlock]] = {kind.__struct_config__.tag: kind for kind in get_args(KnownBlock)}


def tool_use(call_id: str, name: str, arguments: JsonObject) -> ToolUse:
    """Build a tool call from decoded arguments."""
    return ToolUse(id=call_id, name=name, input=to_raw(arguments))


def tool_result(call_id: str, content: Any, *, is_error: bool | None = None) -> ToolResult:
    """Build a tool result from a string or a list of blocks as JSON objects."""
    return ToolResult(tool_use_id=call_id, content=to_raw(content), is_error=is_error)


def plain_text(content: Any) -> str:
    """Return the text of a tool result's content, whatever its form."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else to_raw_text(content)
    return "\n".join(_item_text(item) for item in content)


def to_raw_text(value: Any) -> str:
    """Encode a decoded value as JSON text."""
    return bytes(to_raw(value)).decode("utf-8", "replace")


def _item_text(item: Any) -> str:
    if isinstance(item, str):
        return item
    match item:
        case {"text": str(text)}:
            return text
        case {"type": str(kind)}:
            return f"[{kind}]"
    return to_raw_text(item)


def _values(block: Block) -> list[Any]:
    values = (getattr(block, name) for name in block.__struct_fields__)
    return [from_json(value) if isinstance(value, msgspec.Raw) else value for value in values]
