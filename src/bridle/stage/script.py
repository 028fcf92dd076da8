"""Loading of a script: from JSON to a `Script`, with errors that name the JSON path."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.errors import ScriptError
from bridle.stage.answers import Script
from bridle.stage.check import first_fault
from bridle.wire.events.loose_json import JsonObject

# Users write scripts manually; a larger file is not a script.
MAX_SCRIPT_BYTES = 64 * 1024 * 1024

_FAULT = re.compile(r"^(?P<message>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL)
_ANSWER = re.compile(r"(?:\.conversations\[\d+\])?(?:\.answers\[\d+\]|\.otherwise)")
_SEGMENT = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_REMEDY = "`bridle stage --schema` prints the format; `bridle help stage` explains it."


def load_script(data: bytes | str | Mapping[str, Any]) -> Script:
    """Return the script, or raise a `ScriptError` with the JSON path of the fault."""
    raw = _parse(data)
    _default_kinds(raw)
    try:
        script = msgspec.convert(raw, Script)
    except msgspec.ValidationError as error:
        raise _script_error(*_locate(str(error), raw)) from error
    fault = first_fault(script, raw)
    if fault is not None:
        raise _script_error(fault.path, fault.message)
    return script


def schema() -> JsonObject:
    document = msgspec.json.schema(Script)
    # The default kind, so that the simplest script is the shortest.
    message = document["$defs"]["Message"]
    message["required"] = [name for name in message["required"] if name != "kind"]
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return document


def _parse(data: bytes | str | Mapping[str, Any]) -> Any:
    """Return the decoded JSON, always as a new copy."""
    try:
        text = data if isinstance(data, bytes | str) else json.dumps(data, allow_nan=False)
        encoded = text.encode() if isinstance(text, str) else text
        if len(encoded) > MAX_SCRIPT_BYTES:
            raise ScriptError(
                f"the script must be at most {MAX_SCRIPT_BYTES} bytes, got {len(encoded)}",
                remedy="Split it into several scripts.",
            )
        return msgspec.json.decode(encoded)
    except RecursionError as error:
        raise ScriptError("the script is nested too deeply", remedy=_REMEDY) from error
    except (ValueError, TypeError, msgspec.DecodeError) as error:
        raise ScriptError(f"the script is not JSON: {error}", remedy=_REMEDY) from error


def _default_kinds(raw: Any) -> None:
    """Add the kind `message` to each answer without a kind."""
    if not isinstance(raw, dict):
        return
    conversations = raw.get("conversations")
    for holder in [raw, *(conversations if isinstance(conversations, list) else [])]:
        if isinstance(holder, dict):
            answers = holder.get("answers")
            for answer in [*(answers if isinstance(answers, list) else []), holder.get("otherwise")]:
                if isinstance(answer, dict):
                    answer.setdefault("kind", "message")


def _locate(error: str, raw: Any) -> tuple[str, str]:
    """Return the path and the message of a validation error."""
    match = _FAULT.match(error)
    path, message = (match["path"] or "", match["message"]) if match else ("", error)
    if "[...]" in path:
        path = _with_entry_key(path, error, raw)
    field = _FIELD.match(message)
    if field:
        message = f"unknown key{_known_keys(path, raw)}" if "unknown" in message else "missing key"
        path = f"{path}.{field['name']}"
    return path.removeprefix("."), message


def _known_keys(path: str, raw: Any) -> str:
    """Return the keys of an answer or of the script, as text; empty for any other object."""
    if path and not _ANSWER.fullmatch(path):
        return ""
    holder = raw
    for key, index in _SEGMENT.findall(path):
        holder = holder[int(index)] if index else holder[key]
    kind = holder["kind"] if path else None
    for name, definition in schema()["$defs"].items():
        keys = definition["properties"]
        if (kind is not None and [kind] == keys.get("kind", {}).get("enum")) or (not path and name == Script.__name__):
            return f"; {f'the kind {kind!r}' if kind else 'a script'} has {', '.join(keys)}"
    return ""


def _with_entry_key(path: str, message: str, raw: Any) -> str:
    """Return the path with the key of the faulty entry, for which the validator prints `[...]`."""
    before, _, after = path.partition("[...]")
    holder = raw
    for key, index in _SEGMENT.findall(before):
        holder = holder[int(index)] if index else holder[key]
    entries = dict(holder)
    for key, value in entries.items():
        holder.clear()
        holder[key] = value
        try:
            msgspec.convert(raw, Script)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return f"{before}.{key}{after}"
    return path


def _script_error(path: str, message: str) -> ScriptError:
    return ScriptError(f"invalid script at {path or 'the top level'}: {message}", remedy=_REMEDY, payload=path)
