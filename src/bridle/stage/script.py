"""A script: the answers that the stage gives, in order, and the rules by which one is chosen."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.errors import ScriptError
from bridle.stage.answers import AnyAnswer, When
from bridle.stage.check import fault_in

# What the server lists where the script names no models.
DEFAULT_MODELS = ("claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5-20251001")
# A script is written by a person; what is larger was not meant as one.
MAX_SCRIPT_BYTES = 64 * 1024 * 1024

_PLACE_OF_FAULT = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL)
_ANSWER = re.compile(r"(?:\.conversations\[\d+\])?(?:\.answers\[\d+\]|\.otherwise)")
_SEGMENT = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_REMEDY = "`bridle stage --schema` prints the format; docs/stage.md explains it."


class Conversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers of their own for the requests that fit `when`."""

    when: When
    answers: tuple[AnyAnswer, ...] = ()
    otherwise: AnyAnswer | None = None


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything the stage knows: who is answered what, and which models it lists."""

    answers: tuple[AnyAnswer, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    otherwise: AnyAnswer | None = None
    models: tuple[str, ...] = DEFAULT_MODELS


def load_script(data: bytes | str | Mapping[str, Any]) -> Script:
    """Return the script, or raise `ScriptError` that names the JSON path of what is wrong."""
    raw = _parsed(data)
    _default_kinds(raw)
    try:
        script = msgspec.convert(raw, Script)
    except msgspec.ValidationError as error:
        raise _refused(*_located(str(error), raw)) from error
    fault = fault_in(raw)
    if fault is not None:
        raise _refused(fault.path, fault.what)
    return script


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a script."""
    document = msgspec.json.schema(Script)
    # The one kind that need not be named, so that the plainest script is the shortest.
    message = document["$defs"]["Message"]
    message["required"] = [name for name in message["required"] if name != "kind"]
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return document


def _parsed(data: bytes | str | Mapping[str, Any]) -> Any:
    """Return the JSON value in a copy of our own."""
    try:
        text = data if isinstance(data, bytes | str) else json.dumps(data, allow_nan=False)
        encoded = text.encode() if isinstance(text, str) else text
        if len(encoded) > MAX_SCRIPT_BYTES:
            raise ScriptError(f"the script is larger than {MAX_SCRIPT_BYTES} bytes; this is not a script")
        return msgspec.json.decode(encoded)
    except RecursionError as error:
        raise ScriptError("the script is nested too deeply to be read", remedy=_REMEDY) from error
    except (ValueError, TypeError, msgspec.DecodeError) as error:
        raise ScriptError(f"the script is not JSON: {error}", remedy=_REMEDY) from error


def _default_kinds(raw: Any) -> None:
    """Write the kind `message` into each answer that names none."""
    if not isinstance(raw, dict):
        return
    conversations = raw.get("conversations")
    for holder in [raw, *(conversations if isinstance(conversations, list) else [])]:
        if isinstance(holder, dict):
            answers = holder.get("answers")
            for answer in [*(answers if isinstance(answers, list) else []), holder.get("otherwise")]:
                if isinstance(answer, dict):
                    answer.setdefault("kind", "message")


def _located(message: str, raw: Any) -> tuple[str, str]:
    """Return the path and the fault that a validation message tells of."""
    found = _PLACE_OF_FAULT.match(message)
    path, what = (found["path"] or "", found["what"]) if found else ("", message)
    if "[...]" in path:
        path = _named_entry(path, message, raw)
    field = _FIELD.match(what)
    if field:
        what = f"no such key{_known_keys(path, raw)}" if "unknown" in what else "this key is missing"
        path = f"{path}.{field['name']}"
    return path.removeprefix("."), what


def _known_keys(path: str, raw: Any) -> str:
    """Return words about the keys that an answer, or the script itself, can have; nothing elsewhere."""
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


def _named_entry(path: str, message: str, raw: Any) -> str:
    """Return the path with the key of the faulty entry, where the validator says only `[...]`."""
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


def _refused(path: str, what: str) -> ScriptError:
    """Return the error for a fault at a path."""
    return ScriptError(f"the script is wrong at {path or 'its top'}: {what}", remedy=_REMEDY, payload=path)
