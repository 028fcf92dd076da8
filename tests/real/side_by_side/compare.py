"""What can be compared of two programs, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.real.side_by_side.normalise import SETS, normalised
from tests.real.side_by_side.play import Seen, Started, kind_of
from tests.real.side_by_side.scenario import Scenario

ABSENT = "<absent>"
# Of the many lines of a transcript, those that other programs read.
TRANSCRIPT_KINDS = frozenset({"user", "assistant"})
# What a request asks for, beside its messages and tools.
ASKED_FOR = ("model", "max_tokens", "thinking", "output_config", "tool_choice", "stream")


@dataclass(frozen=True)
class Difference:
    """One place at which the two differ."""

    path: str
    real: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.path}: real {_short(self.real)}, ours {_short(self.ours)}"


def differences(real: dict[str, Any], ours: dict[str, Any]) -> list[Difference]:
    """Every place at which two programs differ, by their shapes."""
    pairs = zip(real["request"], ours["request"], strict=False)
    common = [request["schema"].keys() & other["schema"].keys() for request, other in pairs]
    return list(_walk("", _with_schemas(real, common), _with_schemas(ours, common)))


def shape(scenario: Scenario, seen: Seen) -> dict[str, Any]:
    """All that is compared of one program, normalised."""
    clean = normalised(seen, repr(scenario.starts))
    found: dict[str, Any] = {
        "start": [_started(scenario, start, clean) for start in seen.starts],
        "request": [clean(request) for request in _requests(scenario, seen)],
        "file": clean(seen.files),
    }
    if scenario.transcript:
        found["transcript"] = [[clean(line) for line in _kept(lines)] for lines in seen.transcripts]
    return found


def _with_schemas(found: dict[str, Any], common: list[set[str]]) -> dict[str, Any]:
    """With the schemas of the tools that both offer: of one that only one offers, that is difference enough."""
    requests = [
        {**request, "schema": {name: request["schema"][name] for name in sorted(names)}}
        for request, names in zip(found["request"], common, strict=False)
    ]
    return {**found, "request": requests + found["request"][len(requests) :]}


def _started(scenario: Scenario, start: Started, clean: Any) -> dict[str, Any]:
    events = [clean(event) for event in start.events]
    if scenario.any_order:
        events = _in_order_of_calls(events)
    found: dict[str, Any] = {
        "exit_code": start.exit_code,
        "stderr": "words" if start.stderr.strip() else "empty",
        "left_behind": start.left_behind,
        "lines_that_are_no_events": _other_lines(start, clean),
        "order": [_label(event) for event in events],
        "ids_are_unique": _unique(start),
    }
    for event in events:
        found.setdefault(kind_of(event), []).append(event)
    return found


def _label(event: dict[str, Any]) -> str:
    """An event's kind, and what it carries."""
    inner = event["event"].get("type") if isinstance(event.get("event"), dict) else None
    blocks = [block.get("type") for block in _blocks(event)]
    return " ".join(str(part) for part in (kind_of(event), inner, *blocks) if part)


def _in_order_of_calls(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool results in the order of their calls, each after the events of the answer that called."""
    answers = [event for event in events if _answered(event) is None]
    results = sorted(
        (event for event in events if _answered(event) is not None), key=lambda event: str(_answered(event))
    )
    ordered: list[dict[str, Any]] = []
    for place, event in enumerate(answers):
        following = answers[place + 1] if place + 1 < len(answers) else {}
        ordered.append(event)
        if _message(event).get("id") != _message(following).get("id"):
            called = {block.get("id") for before in ordered for block in _blocks(before)}
            ordered += [result for result in results if _answered(result) in called]
            results = [result for result in results if _answered(result) not in called]
    return ordered + results


def _blocks(event: dict[str, Any]) -> list[dict[str, Any]]:
    content = _message(event).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _message(event: dict[str, Any]) -> dict[str, Any]:
    message = event.get("message")
    return message if isinstance(message, dict) else {}


def _answered(event: dict[str, Any]) -> str | None:
    """The call that a result answers."""
    if event.get("type") != "user":
        return None
    return next((str(block.get("tool_use_id")) for block in _blocks(event) if block.get("type") == "tool_result"), None)


def _other_lines(start: Started, clean: Any) -> list[str]:
    """What stdout holds that is not JSON, line by line; a line's end counts."""
    lines = []
    for line in start.stdout.splitlines(keepends=True):
        try:
            json.loads(line)
        except ValueError:
            lines.append(clean(line))
    return lines


def _unique(start: Started) -> bool:
    ids = [json.dumps(event["uuid"]) for event in start.events if "uuid" in event]
    return len(ids) == len(set(ids))


def _requests(scenario: Scenario, seen: Seen) -> Iterator[dict[str, Any]]:
    """What each request asks for: not the words of the prompt, of the descriptions and of the reminders."""
    before: list[dict[str, Any]] = []
    for body in sorted(seen.requests, key=_conversation) if scenario.any_order else seen.requests:
        whole = json.dumps(body, ensure_ascii=False)
        said = list(_said(body["messages"]))
        if scenario.any_order:
            said = [{**message, "content": sorted(message["content"], key=_call_of)} for message in said]
        goes_on = before != [] and said[: len(before)] == before
        yield {
            **{key: body.get(key, ABSENT) for key in ASKED_FOR},
            "tools": [tool["name"] for tool in body.get("tools", [])],
            "schema": {tool["name"]: _schema(tool) for tool in body.get("tools", [])},
            "messages_as_before": len(before) if goes_on else 0,
            "messages": said[len(before) :] if goes_on else said,
            "is_marked_for_the_cache": _is_marked(body["messages"]),
            "holds": {word: json.dumps(word, ensure_ascii=False)[1:-1] in whole for word in scenario.words},
        }
        before = said


def _conversation(body: dict[str, Any]) -> str:
    """The text that a conversation began with: those of sub-agents ask at the same time, in any order."""
    first = next(iter(_said(body["messages"])))
    return str(next((block.get("text") for block in first["content"] if "text" in block), "")).strip()


def _is_marked(messages: list[dict[str, Any]]) -> bool:
    """Whether the next request can have all of this one from the cache."""
    last = next(message for message in reversed(messages) if message["role"] != "system")
    return isinstance(last["content"], list) and "cache_control" in last["content"][-1]


def _call_of(block: dict[str, Any]) -> str:
    """The call that a block of a message answers; other blocks stay where they are."""
    return str(block.get("tool_use_id", ""))


def _schema(tool: dict[str, Any]) -> Any:
    """The schema of a tool; of one that the endpoint runs, all that is asked of it."""
    return _wordless(tool["input_schema"]) if "input_schema" in tool else tool


def _wordless(schema: Any) -> Any:
    """A schema without its descriptions: those are words for the model, and each program's own."""
    if isinstance(schema, dict):
        return {key: _wordless(item) for key, item in schema.items() if key != "description" or isinstance(item, dict)}
    return [_wordless(item) for item in schema] if isinstance(schema, list) else schema


def _said(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The conversation without what a program adds of its own: system messages, reminders, marks for the cache."""
    role: str | None = None
    blocks: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if message["role"] != role and blocks:
            yield {"role": role, "content": blocks}
            blocks = []
        role = message["role"]
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if not str(block.get("text", "")).startswith("<system-reminder>"):
                blocks.append({key: item for key, item in block.items() if key != "cache_control"})
    yield {"role": role, "content": blocks}


def _kept(lines: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.get("type") in TRANSCRIPT_KINDS:
            yield line


def _walk(path: str, real: Any, ours: Any) -> Iterator[Difference]:
    if path.rpartition(".")[2] in SETS and _is_named(real) and _is_named(ours):
        yield from _walk_sets(path, _by_name(real), _by_name(ours))
    elif isinstance(real, dict) and isinstance(ours, dict):
        for key in [*real, *(key for key in ours if key not in real)]:
            yield from _walk(f"{path}.{key}" if path else key, real.get(key, ABSENT), ours.get(key, ABSENT))
    elif isinstance(real, list) and isinstance(ours, list):
        for place in range(max(len(real), len(ours))):
            pair = (items[place] if place < len(items) else ABSENT for items in (real, ours))
            yield from _walk(f"{path}[{place}]", *pair)
    elif real != ours or type(real) is not type(ours):
        yield Difference(path, real, ours)


def _is_named(items: Any) -> bool:
    return isinstance(items, dict) or (isinstance(items, list) and all(isinstance(item, str) for item in items))


def _by_name(items: Any) -> dict[str, Any]:
    return items if isinstance(items, dict) else {name: name for name in items}


def _walk_sets(path: str, real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted(real.keys() | ours.keys()):
        if name in real and name in ours:
            yield from _walk(f"{path}.{name}", real[name], ours[name])
        else:
            yield Difference(f"{path}{{{name}}}", real.get(name, ABSENT), ours.get(name, ABSENT))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:300]}…{text[-80:]}"
