"""The script in play: which answers are left, what has been captured, and who is answered what."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from bridle.stage.answers import AnyAnswer, Block, Capture, Failure, Malformed, Overloaded, Spoken, When
from bridle.stage.patterns import compiled, filled, places
from bridle.stage.prompt import Prompt
from bridle.stage.refusal import Refusal, bad_request
from bridle.stage.script import Script

# Enough of the last user message to recognise the request in an error.
_SHOWN_CHARS = 80


@dataclass(frozen=True)
class Taken:
    """An answer that was chosen, its places filled, and its path in the script."""

    path: str
    answer: AnyAnswer


@dataclass(frozen=True)
class Stuck:
    """No answer can be given; the path is that of the answer which could not be filled, if one was chosen."""

    path: str | None
    refusal: Refusal


class Player:
    """Takes answers from a script. Not for several threads at once."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._used: dict[str, int] = {}
        self._values: dict[str, str] = {}

    def take(self, prompt: Prompt) -> Taken | Stuck:
        """Choose the answer for a request, count its use, and fill its places."""
        for path, answer in self._candidates(prompt):
            if self._has_uses(path, answer) and holds(answer.when, prompt):
                self._used[path] = self._used.get(path, 0) + 1
                return self._filled(path, answer, prompt)
        shown = prompt.text("last_user")[-_SHOWN_CHARS:]
        return Stuck(
            None,
            bad_request(
                f"script exhausted: no answer is left for this request (model {prompt.model}, "
                f"turn {prompt.turn()}, last user text ends {shown!r})"
            ),
        )

    def _candidates(self, prompt: Prompt) -> Iterator[tuple[str, AnyAnswer]]:
        """Yield the answers that may be given, in the order in which they are tried."""
        script, prefix, holder = self._script, "", None
        for index, conversation in enumerate(script.conversations):
            if holds(conversation.when, prompt):
                prefix, holder = f"conversations[{index}].", conversation
                break
        for index, answer in enumerate(script.answers if holder is None else holder.answers):
            yield f"{prefix}answers[{index}]", answer
        if holder is not None and holder.otherwise is not None:
            yield f"{prefix}otherwise", holder.otherwise
        if script.otherwise is not None:
            yield "otherwise", script.otherwise

    def _has_uses(self, path: str, answer: AnyAnswer) -> bool:
        endless = path.endswith("otherwise") or not isinstance(answer.times, int)
        return endless or self._used.get(path, 0) < int(answer.times or 0)

    def _filled(self, path: str, answer: AnyAnswer, prompt: Prompt) -> Taken | Stuck:
        for name, capture in answer.capture.items():
            value = captured(capture, prompt)
            if value is not None:
                self._values[name] = value
        missing = [name for name in places(_strings(answer)) if name not in self._values]
        if missing:
            words = f"{path} needs ${{{missing[0]}}}, and no request has given it a value yet"
            return Stuck(path, bad_request(words))
        return Taken(path, _with_values(answer, self._values))


def holds(when: When | None, prompt: Prompt) -> bool:
    """Tell whether a request fits the conditions."""
    if when is None:
        return True
    text = prompt.text(when.source)
    return (
        (when.contains is None or when.contains in text)
        and (when.matches is None or compiled(when.matches).search(text) is not None)
        and (when.system_contains is None or when.system_contains in prompt.system)
        and (when.model is None or fnmatch.fnmatchcase(prompt.model, when.model))
        and (when.has_tool is None or any(tool.get("name") == when.has_tool for tool in prompt.tools))
        and (when.tool_result_of is None or when.tool_result_of in prompt.answered_tools())
        and (when.turn is None or when.turn == prompt.turn())
        and (when.stream is None or when.stream == prompt.stream)
    )


def captured(capture: Capture, prompt: Prompt) -> str | None:
    """Return the value that a capture finds in a request."""
    found = [match[1] for match in compiled(capture.pattern).finditer(prompt.text(capture.source))]
    values = [value for value in found if value is not None]
    if not values:
        return None
    return values[0] if capture.take == "first" else values[-1]


def _strings(answer: AnyAnswer) -> list[object]:
    """Return the parts of an answer that may hold places."""
    parts: list[object] = []
    if isinstance(answer, Spoken):
        parts.append(msgspec.to_builtins(answer.blocks))
    if isinstance(answer, Failure | Overloaded):
        parts.append(answer.message)
    if isinstance(answer, Malformed):
        parts.append(answer.text)
    return parts


def _with_values(answer: AnyAnswer, values: dict[str, str]) -> AnyAnswer:
    """Return the answer with its places filled."""
    if isinstance(answer, Spoken):
        blocks = tuple(_block_with_values(block, values) for block in answer.blocks)
        answer = msgspec.structs.replace(answer, blocks=blocks)
    if isinstance(answer, Failure | Overloaded):
        answer = msgspec.structs.replace(answer, message=filled(answer.message, values))
    if isinstance(answer, Malformed):
        answer = msgspec.structs.replace(answer, text=filled(answer.text, values))
    return answer


def _block_with_values(block: Block | str, values: dict[str, str]) -> Block | str:
    if isinstance(block, str):
        return str(filled(block, values))
    fields = {name: filled(getattr(block, name), values) for name in block.__struct_fields__}
    return msgspec.structs.replace(block, **fields)
