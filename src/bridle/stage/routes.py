"""What the stage says to a request: the routes of the API, each a pure look at what came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from bridle.stage.http import Received
from bridle.stage.player import Player, Stuck
from bridle.stage.prompt import Prompt, read_prompt
from bridle.stage.refusal import Refusal, bad_request, refusal
from bridle.stage.reply import Ask, Step, document_steps, refusal_steps, steps_of
from bridle.stage.script import Script
from bridle.stage.stream import Voice

# The deepest request of a client nests about ten times; deeper ones are made to break parsers.
MAX_DEPTH = 100

_MESSAGES = "/v1/messages"
_COUNT_TOKENS = "/v1/messages/count_tokens"
_MODELS = "/v1/models"
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Decision:
    """The steps of a reply, and what the record says of it."""

    steps: Iterator[Step]
    body: Any = None
    answer: str | None = None
    problem: str | None = None


class Desk:
    """Answers requests from a script, each with a number from which its ids are made."""

    def __init__(self, script: Script, *, token: str) -> None:
        self._script = script
        self._player = Player(script)
        self._token = token

    def request_id(self, number: int) -> str:
        """Return the id of the request of that number."""
        return f"req_{self._token}{number:06d}"

    def decide(self, received: Received, number: int) -> Decision:
        """Return what to say to a request."""
        path = received.target.partition("?")[0]
        request_id = self.request_id(number)
        origin = _web_origin(received)
        if origin is not None:
            return _refused(refusal(403, message=f"a web page of {origin} may not use up the script"), request_id)
        match received.method, path:
            case (("HEAD" | "GET"), "/"):
                return Decision(document_steps({"name": "bridle stage"}, request_id))
            case "POST", ("/v1/messages" | "/v1/messages/count_tokens"):
                return self._posted(received, path, number)
            case "GET", "/v1/models":
                return Decision(document_steps(_model_page(self._script.models), request_id))
            case "GET", _ if path.startswith(f"{_MODELS}/"):
                return self._model(unquote(path.removeprefix(f"{_MODELS}/")), request_id)
        return _refused(refusal(404, message=f"there is no {received.method} {path} here"), request_id)

    def _posted(self, received: Received, path: str, number: int) -> Decision:
        request_id = self.request_id(number)
        body = _decoded(received.body)
        if isinstance(body, Refusal):
            return _refused(body, request_id)
        prompt = read_prompt(body, needs_max_tokens=path == _MESSAGES)
        if isinstance(prompt, Refusal):
            return _refused(prompt, request_id, body=body)
        if path == _COUNT_TOKENS:
            return Decision(document_steps({"input_tokens": prompt.tokens()}, request_id), body=body)
        return self._answered(prompt, body, number)

    def _answered(self, prompt: Prompt, body: Any, number: int) -> Decision:
        request_id = self.request_id(number)
        taken = self._player.take(prompt)
        if isinstance(taken, Stuck):
            return _refused(taken.refusal, request_id, body=body, answer=taken.path)
        voice = Voice(f"msg_{self._token}{number:06d}", prompt.model, prompt.tokens())
        steps = steps_of(taken.answer, voice, Ask(request_id, prompt.stream))
        return Decision(steps, body=body, answer=taken.path)

    def _model(self, name: str, request_id: str) -> Decision:
        if name not in self._script.models:
            return _refused(refusal(404, message=f"model: {name}"), request_id)
        return Decision(document_steps(_model_card(name), request_id))


def _refused(refused: Refusal, request_id: str, *, body: Any = None, answer: str | None = None) -> Decision:
    return Decision(refusal_steps(refused, request_id), body=body, answer=answer, problem=refused.message)


def _web_origin(received: Received) -> str | None:
    """The web page elsewhere that had a browser send this; None for programs and for pages of this machine.

    Browsers name the page on every POST, also where its name was made to point to loopback.
    """
    origin = next((value for name, value in received.headers if name.lower() == "origin"), None)
    if origin is None:
        return None
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        return origin
    return None if host in _LOOPBACK_HOSTS else origin


def _decoded(body: bytes) -> Any | Refusal:
    """Return the JSON value of a body, or the refusal of one that is none."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        return bad_request("the body is nested too deeply")
    except ValueError as error:
        return bad_request(f"the body is not valid JSON: {error}")
    return bad_request("the body is nested too deeply") if _is_deeper(value, MAX_DEPTH) else value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value: Any, depth: int) -> bool:
    """Level by level: a conversation of thousands of messages is wide, and its every request is looked at."""
    level = [value] if isinstance(value, dict | list) else []
    while level and depth > 0:
        inner = [item for holder in level for item in (holder.values() if isinstance(holder, dict) else holder)]
        level = [item for item in inner if isinstance(item, dict | list)]
        depth -= 1
    return level != []


def _model_page(models: tuple[str, ...]) -> dict[str, Any]:
    first, last = (models[0], models[-1]) if models else (None, None)
    cards = [_model_card(name) for name in models]
    return {"data": cards, "has_more": False, "first_id": first, "last_id": last}


def _model_card(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
