"""The routes of the API: a pure function from a request to its reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from bridle.stage.answers import Script
from bridle.stage.http import HttpRequest
from bridle.stage.player import NoAnswer, Player
from bridle.stage.prompt import Prompt, read_prompt
from bridle.stage.refusal import Refusal, bad_request, refusal
from bridle.stage.reply import RequestInfo, Step, document_steps, refusal_steps, reply_steps
from bridle.stage.stream import MessageContext
from bridle.wire.events.loose_json import JsonObject

# A client's request nests about ten levels deep; deeper ones are meant to break parsers.
MAX_DEPTH = 100
# The newest messages of a request come again with other cache marks.
_MARKED_MESSAGES = 6

_MESSAGES = "/v1/messages"
_COUNT_TOKENS = "/v1/messages/count_tokens"
_MODELS = "/v1/models"
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


class Decision(Struct, frozen=True):
    """The steps of a reply, and what is recorded about it."""

    steps: Iterator[Step]
    body: Any = None
    answer: str | None = None
    problem: str | None = None


class Router:
    """The API's routes on a script; the ids of a reply are made from its request's number."""

    def __init__(self, script: Script, *, token: str) -> None:
        self._script = script
        self._player = Player(script)
        self._token = token
        self._checked: list[JsonObject] = []
        """The messages of the last well-formed request: the next one of the conversation begins with them."""

    def request_id(self, number: int) -> str:
        return f"req_{self._token}{number:06d}"

    def reply(self, received: HttpRequest, number: int) -> Decision:
        path = received.target.partition("?")[0]
        request_id = self.request_id(number)
        origin = _web_origin(received)
        if origin is not None:
            return _refused(refusal(403, message=f"web pages of {origin} may not use the stage"), request_id)
        match received.method, path:
            case (("HEAD" | "GET"), "/"):
                return Decision(document_steps({"name": "bridle stage"}, request_id))
            case "POST", ("/v1/messages" | "/v1/messages/count_tokens"):
                return self._posted(received, path, number)
            case "GET", "/v1/models":
                return Decision(document_steps(_model_page(self._script.models), request_id))
            case "GET", _ if path.startswith(f"{_MODELS}/"):
                return self._model(unquote(path.removeprefix(f"{_MODELS}/")), request_id)
        return _refused(refusal(404, message=f"no route: {received.method} {path}"), request_id)

    def _posted(self, received: HttpRequest, path: str, number: int) -> Decision:
        request_id = self.request_id(number)
        body = _decode(received.body)
        if isinstance(body, Refusal):
            return _refused(body, request_id)
        checked = _number_checked(body, self._checked)
        if _is_deeper(_without_messages(body, checked), MAX_DEPTH):
            return _refused(bad_request("the body is nested too deeply"), request_id)
        prompt = read_prompt(body, needs_max_tokens=path == _MESSAGES, checked=checked)
        if isinstance(prompt, Refusal):
            return _refused(prompt, request_id, body=body)
        self._checked = prompt.sent
        if path == _COUNT_TOKENS:
            return Decision(document_steps({"input_tokens": prompt.tokens()}, request_id), body=body)
        return self._answered(prompt, body, number)

    def _answered(self, prompt: Prompt, body: Any, number: int) -> Decision:
        request_id = self.request_id(number)
        chosen = self._player.take(prompt)
        if isinstance(chosen, NoAnswer):
            return _refused(chosen.refusal, request_id, body=body, answer=chosen.path)
        context = MessageContext(f"msg_{self._token}{number:06d}", prompt.model, prompt.tokens)
        steps = reply_steps(chosen.answer, context, RequestInfo(request_id, prompt.stream))
        return Decision(steps, body=body, answer=chosen.path)

    def _model(self, name: str, request_id: str) -> Decision:
        if name not in self._script.models:
            return _refused(refusal(404, message=f"model: {name}"), request_id)
        return Decision(document_steps(_model_card(name), request_id))


def _refused(error: Refusal, request_id: str, *, body: Any = None, answer: str | None = None) -> Decision:
    return Decision(refusal_steps(error, request_id), body=body, answer=answer, problem=error.message)


def _web_origin(received: HttpRequest) -> str | None:
    """Return the remote web page whose browser sent a request; None for programs and loopback pages.

    Browsers send the origin with every POST, even if its name resolves to loopback.
    """
    origin = next((value for name, value in received.headers if name.lower() == "origin"), None)
    if origin is None:
        return None
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        return origin
    return None if host in _LOOPBACK_HOSTS else origin


def _decode(body: bytes) -> Any | Refusal:
    """Return the JSON value of a body, or the error for one that is not JSON."""
    try:
        return _load(body)
    except RecursionError:
        return bad_request("the body is nested too deeply")
    except ValueError as error:
        return bad_request(f"the body is not valid JSON: {error}")


def _number_checked(body: Any, checked: list[JsonObject]) -> int:
    """Return how many of the first messages are those of an earlier request: they need no second check."""
    number = len(checked) - _MARKED_MESSAGES
    messages = body.get("messages") if isinstance(body, dict) else None
    is_continued = number > 0 and isinstance(messages, list) and messages[:number] == checked[:number]
    return number if is_continued else 0


def _without_messages(body: Any, number: int) -> Any:
    """Return a body without its first messages."""
    return body if number == 0 else {**body, "messages": body["messages"][number:]}


def _load(body: bytes) -> Any:
    """Decode JSON: first strictly, which is faster, as each request has the whole conversation."""
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):  # an error of msgspec's decoder is a ValueError
        return json.loads(body, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value: Any, depth: int) -> bool:
    """Return whether a value nests deeper; level by level, since conversations are wide."""
    level = [value] if isinstance(value, dict | list) else []
    while level and depth > 0:
        lists = [holder.values() if type(holder) is dict else holder for holder in level]
        level = [item for item in chain.from_iterable(lists) if type(item) in (dict, list)]
        depth -= 1
    return level != []


def _model_page(models: tuple[str, ...]) -> JsonObject:
    first, last = (models[0], models[-1]) if models else (None, None)
    cards = [_model_card(name) for name in models]
    return {"data": cards, "has_more": False, "first_id": first, "last_id": last}


def _model_card(name: str) -> JsonObject:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
