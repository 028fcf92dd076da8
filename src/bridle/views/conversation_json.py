"""A conversation as one JSON document, as `show --json` prints it."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.surrogates import replace_surrogates
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import Gauge
from bridle.wire.transcript.items import AnyItem, Call, FileChange, TextItem
from bridle.wire.transcript.transcript import Transcript


def conversation_document(transcript: Transcript, mask: Mask, gauge: Gauge | None = None) -> JsonObject:
    """Return the items in order, those of a sub-agent nested in its call, and the figures beside them."""
    items = [item_document(transcript, item, mask) for item in transcript.items()]
    figures = {} if gauge is None else figures_document(gauge, mask)
    return {"items": items, "threads": thread_names(transcript, mask), **figures}


def thread_names(transcript: Transcript, mask: Mask) -> list[str]:
    """Return the ids of the sub-agents' threads."""
    names: list[str] = _mask([name for name in transcript.threads if name is not None], mask)
    return names


def figures_document(gauge: Gauge, mask: Mask) -> JsonObject:
    """Return the figures beside a conversation."""
    return {"gauge": _mask(msgspec.to_builtins(gauge), mask)}


def item_document(transcript: Transcript, item: AnyItem, mask: Mask) -> JsonObject:
    """Return one item, those of a sub-agent nested in its call."""
    fields = item_fields(item, mask)
    if isinstance(item, Call):
        fields["items"] = [item_document(transcript, inner, mask) for inner in transcript.items(item.call_id)]
    return fields


def item_fields(item: AnyItem, mask: Mask) -> JsonObject:
    """Return one item as JSON values, without those of a sub-agent."""
    fields: JsonObject = _mask(msgspec.to_builtins(item), mask)
    if isinstance(item, TextItem):
        fields["parts"] = _mask(msgspec.to_builtins(item.parts), mask)
    if isinstance(item, Call) and isinstance(item.detail, FileChange) and item.detail.lines:
        # Masked as one text: a private key is recognised by its first and last line.
        fields["detail"]["lines"] = _mask("\n".join(item.detail.lines), mask).split("\n")
    return fields


def _mask(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return replace_surrogates(mask.apply(value))
    if isinstance(value, dict):
        return {name: _mask(inner, mask) for name, inner in value.items()}
    return [_mask(inner, mask) for inner in value] if isinstance(value, list | tuple) else value
