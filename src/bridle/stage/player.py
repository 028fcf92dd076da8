"""The state of a running script: which answers are left and which values were captured."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from bridle.stage.answers import AnyAnswer, Block, Capture, Failure, Malformed, MessageAnswer, Overloaded, Script, When
from bridle.stage.patterns import compile_pattern, fill_placeholders, placeholders
from bridle.stage.prompt import Prompt
from bridle.stage.refusal import Refusal, bad_request

# Enough of the last user message to recognise the request in an error.
_SHOWN_CHARS = 80


class ChosenAnswer(Struct, frozen=True):
    """The answer to a request, with its placeholders filled, and its path in the script."""

    path: str
    answer: AnyAnswer


class NoAnswer(Struct, frozen=True):
    """A request without an answer; the path is that of an answer whose placeholder has no value."""

    path: str | None
    refusal: Refusal


class Player:
    """The chooser of a script's answers; not thread-safe."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._used: dict[str, int] = {}
        self._values: dict[str, str] = {}

    def take(self, prompt: Prompt) -> ChosenAnswer | NoAnswer:
        """Choose the answer to a request, count its use, and fill its placeholders."""
        for path, answer in self._candidates(prompt):
            if self._has_uses(path, answer) and matches(answer.when, prompt):
                self._used[path] = self._used.get(path, 0) + 1
                return self._fill(path, answer, prompt)
        end = prompt.text("last_user")[-_SHOWN_CHARS:]
        return NoAnswer(
            None,
            bad_request(
                f"script exhausted: no answer is left for this request (model {prompt.model}, "
                f"turn {prompt.turn()}, last user text ends {end!r})"
            ),
        )

    def _candidates(self, prompt: Prompt) -> Iterator[tuple[str, AnyAnswer]]:
        """Yield the possible answers, in the order in which they are tried."""
        script, prefix, holder = self._script, "", None
        for index, conversation in enumerate(script.conversations):
            if matches(conversation.when, prompt):
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

    def _fill(self, path: str, answer: AnyAnswer, prompt: Prompt) -> ChosenAnswer | NoAnswer:
        for name, capture in answer.capture.items():
            value = captured_value(capture, prompt)
            if value is not None:
                self._values[name] = value
        missing = [name for name in placeholders(_strings(answer)) if name not in self._values]
        if missing:
            message = f"{path} needs ${{{missing[0]}}}, which no request has set yet"
            return NoAnswer(path, bad_request(message))
        return ChosenAnswer(path, _with_values(answer, self._values))


def matches(when: When | None, prompt: Prompt) -> bool:
    """Return whether a request meets the conditions."""
    if when is None:
        return True
    return (
        (when.contains is None or when.contains in prompt.text(when.source))
        and (when.matches is None or compile_pattern(when.matches).search(prompt.text(when.source)) is not None)
        and (when.system_contains is None or when.system_contains in prompt.system)
        and (when.model is None or fnmatch.fnmatchcase(prompt.model, when.model))
        and (when.has_tool is None or when.has_tool in prompt.tool_names)
        and (when.tool_result_of is None or when.tool_result_of in prompt.answered_tools())
        and (when.turn is None or when.turn == prompt.turn())
        and (when.stream is None or when.stream == prompt.stream)
    )


def captured_value(capture: Capture, prompt: Prompt) -> str | None:
    """Return the value that a capture finds in a request."""
    matches = compile_pattern(capture.pattern).finditer(prompt.text(capture.source))
    values = [match[1] for match in matches if match[1] is not None]
    if not values:
        return None
    return values[0] if capture.take == "first" else values[-1]


def _strings(answer: AnyAnswer) -> list[object]:
    """Return the parts of an answer that may have placeholders."""
    parts: list[object] = []
    if isinstance(answer, MessageAnswer):
        parts.append(msgspec.to_builtins(answer.blocks))
    if isinstance(answer, Failure | Overloaded):
        parts.append(answer.message)
    if isinstance(answer, Malformed):
        parts.append(answer.text)
    return parts


def _with_values(answer: AnyAnswer, values: dict[str, str]) -> AnyAnswer:
    """Return the answer with its placeholders filled."""
    if isinstance(answer, MessageAnswer):
        blocks = tuple(_block_with_values(block, values) for block in answer.blocks)
        answer = msgspec.structs.replace(answer, blocks=blocks)
    if isinstance(answer, Failure | Overloaded):
        answer = msgspec.structs.replace(answer, message=fill_placeholders(answer.message, values))
    if isinstance(answer, Malformed):
        answer = msgspec.structs.replace(answer, text=fill_placeholders(answer.text, values))
    return answer


def _block_with_values(block: Block | str, values: dict[str, str]) -> Block | str:
    if isinstance(block, str):
        return str(fill_placeholders(block, values))
    fields = {name: fill_placeholders(getattr(block, name), values) for name in block.__struct_fields__}
    return msgspec.structs.replace(block, **fields)
