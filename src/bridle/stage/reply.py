"""An answer as the steps that a connection performs: wait, send the head, send bytes, hang, drop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from bridle.stage.answers import Answer, AnyAnswer, Drop, Failure, Hang, Malformed, Message, Overloaded, Spoken
from bridle.stage.refusal import Refusal, refusal
from bridle.stage.stream import Voice, document, encoded, event, events

# A day: longer than any run of an agent, so that only the client's patience is tested; yet it ends.
HANG_LIMIT_SECONDS = 86_400.0

_STREAM = "text/event-stream; charset=utf-8"
_JSON = "application/json"

# A client that is told of the end together with the head may take it for a connection that was never made, and which of
# the two it sees is then up to chance.
BEFORE_A_CUT_SECONDS = 0.1


@dataclass(frozen=True)
class Wait:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Head:
    """Send status and headers; the length where it is known, else the body goes in chunks."""

    status: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Send:
    """Send a piece of the body."""

    data: bytes


@dataclass(frozen=True)
class Silence:
    """Say nothing until the client leaves or the time is over; then cut the connection."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """End the connection without an ending."""


Step = Wait | Head | Send | Silence | Cut


@dataclass(frozen=True)
class Ask:
    """Whom the reply is for: the request's id, and whether a stream was asked for."""

    request_id: str
    stream: bool


def steps_of(answer: AnyAnswer, voice: Voice, ask: Ask) -> Iterator[Step]:
    """Yield what to do on the connection, in order."""
    if answer.delay_seconds:
        yield Wait(answer.delay_seconds)
    match answer:
        case Message():
            yield from _whole(answer, voice, ask)
        case Failure():
            refused = refusal(answer.status, kind=answer.type, message=answer.message)
            yield from refusal_steps(refused, ask.request_id, answer)
        case Overloaded():
            yield from _overloaded(answer, voice, ask)
        case Drop():
            yield from _dropped(answer, voice, ask)
        case Hang():
            yield from _part(answer, answer.after_events, voice, ask)
            yield Silence(HANG_LIMIT_SECONDS if answer.seconds is None else answer.seconds)
        case Malformed():
            yield from _malformed(answer, voice, ask)
        case _:
            assert_never(answer)


def document_steps(
    value: object, request_id: str, *, status: int = 200, answer: Answer | None = None
) -> Iterator[Step]:
    """Yield the steps that send one JSON document."""
    body = encoded(value)
    length = (("content-length", str(len(body))),)
    yield Head(status, _headers(_JSON, request_id, answer) + length)
    yield Send(body)


def refusal_steps(refused: Refusal, request_id: str, answer: Answer | None = None) -> Iterator[Step]:
    """Yield the steps that send an error in the API's shape."""
    return document_steps(refused.document(request_id), request_id, status=refused.status, answer=answer)


def _whole(answer: Spoken, voice: Voice, ask: Ask) -> Iterator[Step]:
    if ask.stream:
        yield _stream_head(answer, ask)
        yield from _event_steps(answer, voice)
    else:
        yield from document_steps(document(answer, voice), ask.request_id, answer=answer)


def _overloaded(answer: Overloaded, voice: Voice, ask: Ask) -> Iterator[Step]:
    if not ask.stream:
        refused = Refusal(529, answer.type, answer.message)
        yield from refusal_steps(refused, ask.request_id, answer)
        return
    yield from _part(answer, answer.after_events, voice, ask)
    error = {"type": answer.type, "message": answer.message}
    yield Send(event({"type": "error", "error": error, "request_id": ask.request_id}).data)


def _dropped(answer: Drop, voice: Voice, ask: Ask) -> Iterator[Step]:
    if answer.after_bytes is None:
        yield from _part(answer, answer.after_events, voice, ask)
    else:
        yield from _first_bytes(_whole(answer, voice, ask), answer.after_bytes)
    if answer.after_bytes is not None or answer.after_events is not None:
        yield Wait(BEFORE_A_CUT_SECONDS)
    yield Cut()


def _malformed(answer: Malformed, voice: Voice, ask: Ask) -> Iterator[Step]:
    usual = _STREAM if ask.stream else _JSON
    yield Head(answer.status, _headers(answer.content_type or usual, ask.request_id, answer))
    if ask.stream:
        yield from _first_events(_event_steps(answer, voice), answer.after_events)
    yield Send(answer.text.encode())


def _part(answer: Spoken, count: int | None, voice: Voice, ask: Ask) -> Iterator[Step]:
    """Yield the head and so many events; nothing at all for None. Without a stream the body stays empty."""
    if count is None:
        return
    if ask.stream:
        yield _stream_head(answer, ask)
        yield from _first_events(_event_steps(answer, voice), count)
    else:
        yield next(document_steps(document(answer, voice), ask.request_id, answer=answer))


def _event_steps(answer: Spoken, voice: Voice) -> Iterator[Step]:
    for one in events(answer, voice):
        if one.is_delta and answer.token_delay_seconds:
            yield Wait(answer.token_delay_seconds)
        yield Send(one.data)


def _first_events(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Yield the steps up to the event of that number."""
    left = count
    for step in steps:
        if left == 0:
            return
        left -= isinstance(step, Send)
        yield step


def _first_bytes(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Yield the steps with the body cut after so many bytes."""
    left = count
    for step in steps:
        if isinstance(step, Send):
            if left == 0:
                return
            yield Send(step.data[:left])
            left -= len(step.data[:left])
        else:
            yield step


def _stream_head(answer: Answer, ask: Ask) -> Head:
    return Head(200, _headers(_STREAM, ask.request_id, answer))


def _headers(content_type: str, request_id: str, answer: Answer | None) -> tuple[tuple[str, str], ...]:
    """Return the usual headers, and those of the script, which win."""
    usual = {"content-type": content_type, "cache-control": "no-cache", "request-id": request_id}
    given = {name.lower(): value for name, value in answer.headers.items()} if answer else {}
    return tuple((usual | given).items())
