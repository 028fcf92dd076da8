"""What both programs are put through: a script for the model, files, and one or more starts with what happens in each.

Nothing here runs anything; see play.py. In every text of a scenario `<workspace>` and `<home>` stand for the folders of
the program that is playing.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]

STREAM = ("-p", "--output-format", "stream-json", "--verbose")
DIALOGUE = (*STREAM, "--input-format", "stream-json")


@dataclass(frozen=True)
class Send:
    """A line is written to stdin."""

    line: str


@dataclass(frozen=True)
class AwaitEvent:
    """Nothing happens until stdout has had so many events of this kind."""

    kind: str
    count: int = 1


@dataclass(frozen=True)
class AwaitRequest:
    """Nothing happens until the model has been asked so often in this start."""

    count: int = 1


@dataclass(frozen=True)
class AwaitFile:
    """Nothing happens until a file of the workspace is there."""

    path: str


@dataclass(frozen=True)
class Respond:
    """The host answers a request of the program, once it is there: of those that hold a text, the how-manieth."""

    response: Mapping[str, Any]
    number: int = 1
    about: str = ""
    error: str | None = None
    """The host could not do it: this is sent, and no response."""


@dataclass(frozen=True)
class Signal:
    """The program gets a signal."""

    number: signal.Signals


@dataclass(frozen=True)
class Close:
    """Stdin ends now, and not only after the last step."""


Step = Send | Respond | Close | AwaitEvent | AwaitRequest | AwaitFile | Signal


@dataclass(frozen=True)
class Start:
    """One start of the program, from its command line to its end; stdin is closed after the last step."""

    arguments: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    folder: str = "."


@dataclass(frozen=True)
class Scenario:
    """One comparison: the same script, files and starts for the real program and for ours."""

    name: str
    starts: tuple[Start, ...]
    answers: tuple[Answer, ...] = ()
    otherwise: Answer | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Path and text; a path that begins with `<home>/` lies in the home, any other in the workspace."""
    any_order: bool = False
    """Tools run side by side in it: their results come in the order in which they end."""
    words: tuple[str, ...] = ()
    """Texts of which it is compared whether they reach the model, wherever in the request they stand."""
    transcript: bool = False
    """The conversation as it was kept on the disk is compared as well."""


def prompt(text: str, *more: str, **environment: str | None) -> Start:
    """The prompt as an argument, events as output."""
    return Start((*STREAM, text, *more), environment=environment)


def dialogue(*steps: Step, more: tuple[str, ...] = (), **environment: str | None) -> Start:
    """Messages on stdin, events as output."""
    return Start((*DIALOGUE, *more), steps, environment)


def message(text: str, **fields: Any) -> Send:
    """A message of the user on stdin, as a list of one text."""
    content = [{"type": "text", "text": text}]
    return Send(json.dumps({"type": "user", "message": {"role": "user", "content": content}, **fields}))


def control(request_id: str, **request: Any) -> Send:
    """A control request on stdin."""
    return Send(json.dumps({"type": "control_request", "request_id": request_id, "request": request}))


def says(*texts: str, **fields: Any) -> Answer:
    """The model says this."""
    return {"blocks": list(texts), **fields}


def calls(tool: str, **arguments: Any) -> Answer:
    """The model calls a tool."""
    return {"blocks": [call(tool, **arguments)]}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """One call, to be put beside others in an answer."""
    return {"type": "tool_use", "name": tool, "input": arguments}


def thinks(thought: str, *texts: str) -> Answer:
    """The model thinks, then speaks."""
    return {"blocks": [{"type": "thinking", "thinking": thought, "signature": "c2lnbmVk"}, *texts]}


def error(status: int, **fields: Any) -> Answer:
    """The model's server refuses."""
    return {"kind": "error", "status": status, **fields}


def script_of(scenario: Scenario) -> dict[str, Any]:
    """The script for the stage, with every id and every figure given, so that both programs are told the same."""
    answers = [_completed(answer, number) for number, answer in enumerate(scenario.answers, start=1)]
    otherwise = scenario.otherwise or error(400, message="nobody expected this request")
    return {"answers": answers, "otherwise": _completed(otherwise, len(answers) + 1)}


def _completed(answer: Answer, number: int) -> Answer:
    if answer.get("kind") == "error":
        return answer
    blocks = [_with_id(block, f"toolu_{number:03}_{place}") for place, block in enumerate(answer.get("blocks", []))]
    # Figures that differ for each answer: one that is counted twice, or not at all, shows in the sums.
    usage = {"input_tokens": 100 + number, "output_tokens": 10 + number, "cache_read_input_tokens": 1000 * number}
    return {"id": f"msg_{number:03}", "usage": usage, **answer, "blocks": blocks}


def _with_id(block: Any, given: str) -> Any:
    if isinstance(block, dict) and block.get("type") == "tool_use":
        return {"id": given, **block}
    return block
