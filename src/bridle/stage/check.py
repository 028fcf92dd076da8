"""The rules of a script that its JSON Schema cannot express: patterns, names, headers, empty scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bridle.stage.answers import (
    AnyAnswer,
    Capture,
    Conversation,
    Drop,
    Failure,
    Malformed,
    MessageAnswer,
    Overloaded,
    Script,
    When,
)
from bridle.stage.patterns import NAME, compile_pattern, placeholders
from bridle.wire.events.loose_json import JsonObject

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The server frames each answer itself; a script that set these would break the framing, not test it.
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})


class Fault(Struct, frozen=True):
    """What is wrong, and where."""

    path: str
    message: str


def first_fault(script: Script, raw: JsonObject) -> Fault | None:
    """Return the first fault of a script whose shape is valid; `raw` is its JSON."""
    return next(_faults(script, raw), None)


def _faults(script: Script, raw: JsonObject) -> Iterator[Fault]:
    answers = list(_answers(script, raw))
    if not answers:
        yield Fault("answers", "the script has no answer; add `answers`, `conversations` or `otherwise`")
    for index, conversation in enumerate(script.conversations):
        yield from _when_faults(f"conversations[{index}].when", conversation.when)
    names = {name for _, answer, _ in answers for name in answer.capture}
    for path, answer, keys in answers:
        if path.endswith("otherwise"):
            for key in ("when", "times"):
                if key in keys:
                    yield Fault(f"{path}.{key}", "`otherwise` always matches and never runs out")
        yield from _answer_faults(path, answer, names)


def _answers(script: Script, raw: JsonObject) -> Iterator[tuple[str, AnyAnswer, JsonObject]]:
    """Yield each answer with its path and its JSON, those of conversations too."""
    holders: list[tuple[str, Script | Conversation, JsonObject]] = [("", script, raw)]
    for index, conversation in enumerate(script.conversations):
        holders.append((f"conversations[{index}].", conversation, raw["conversations"][index]))
    for prefix, holder, value in holders:
        for index, answer in enumerate(holder.answers):
            yield f"{prefix}answers[{index}]", answer, value["answers"][index]
        if holder.otherwise is not None:
            yield f"{prefix}otherwise", holder.otherwise, value["otherwise"]


def _answer_faults(path: str, answer: AnyAnswer, names: set[str]) -> Iterator[Fault]:
    yield from _when_faults(f"{path}.when", answer.when)
    for name, capture in answer.capture.items():
        yield from _capture_faults(f"{path}.capture.{name}", name, capture)
    for name, value in answer.headers.items():
        yield from _header_faults(f"{path}.headers.{name}", name, value)
    if isinstance(answer, Drop) and answer.after_events is not None and answer.after_bytes is not None:
        yield Fault(f"{path}.after_bytes", "use `after_events` or `after_bytes`, not both")
    if isinstance(answer, MessageAnswer):
        blocks = msgspec.to_builtins(answer.blocks)
        yield from _walk(f"{path}.blocks", blocks, lambda at, text: _placeholder_faults(at, text, names))
    if isinstance(answer, Failure | Overloaded):
        yield from _placeholder_faults(f"{path}.message", answer.message or "", names)
    if isinstance(answer, Malformed):
        yield from _placeholder_faults(f"{path}.text", answer.text, names)


def _when_faults(path: str, when: When | None) -> Iterator[Fault]:
    if when is not None and when.matches is not None:
        yield from _pattern_faults(f"{path}.matches", when.matches, groups=None)


def _capture_faults(path: str, name: str, capture: Capture) -> Iterator[Fault]:
    if NAME.fullmatch(name) is None:
        yield Fault(path, "a name must be letters, digits and `_`, and must not begin with a digit")
    yield from _pattern_faults(f"{path}.pattern", capture.pattern, groups=1)


def _pattern_faults(path: str, pattern: str, *, groups: int | None) -> Iterator[Fault]:
    try:
        count = compile_pattern(pattern).groups
    except re.error as error:
        yield Fault(path, f"not a regular expression: {error}")
        return
    if groups is not None and count != groups:
        yield Fault(path, f"the pattern must have exactly one group, the value; it has {count}")


def _header_faults(path: str, name: str, value: str) -> Iterator[Fault]:
    if _TOKEN.fullmatch(name) is None:
        yield Fault(path, "not a header name")
    elif name.lower() in _FRAMING:
        yield Fault(path, "the server sets this header itself")
    if not value.isascii() or not value.isprintable() or value != value.strip():
        yield Fault(path, "a header value must be printable ASCII without spaces at its ends")


def _placeholder_faults(path: str, text: str, names: set[str]) -> Iterator[Fault]:
    for name in placeholders(text):
        if name not in names:
            yield Fault(path, f"nothing captures `{name}`; to send it unchanged, write `$${{{name}}}`")


def _walk(path: str, value: Any, check: Callable[[str, str], Iterator[Fault]]) -> Iterator[Fault]:
    """Yield what `check` finds in each string of the value, with the string's path."""
    if isinstance(value, str):
        yield from check(path, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(f"{path}.{key}", item, check)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(f"{path}[{index}]", item, check)
