"""An answer as the steps of a connection: wait, send the head, send bytes, hang, drop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from msgspec import Struct

from bridle.stage.answers import Answer, AnyAnswer, Drop, Failure, Hang, Malformed, Message, MessageAnswer, Overloaded
from bridle.stage.refusal import Refusal, refusal
from bridle.stage.stream import MessageContext, message_document, message_events, sse_event
from bridle.wire.events.loose_json import to_bytes

# A day: longer than any run of an agent, so that only the client's timeout is tested; yet it ends.
HANG_LIMIT_SECONDS = 86_400.0

_STREAM = "text/event-stream; charset=utf-8"
_JSON = "application/json"

# A client that receives the end together with the head may report a connection that was never established; which of
# the two errors it reports is then random.
DROP_DELAY_SECONDS = 0.1


class Wait(Struct, frozen=True):
    """A pause."""

    seconds: float


class Head(Struct, frozen=True):
    """Status and headers; without a length the body is chunked."""

    status: int
    headers: tuple[tuple[str, str], ...]


class Send(Struct, frozen=True):
    """A piece of the body."""

    data: bytes


class Silence(Struct, frozen=True):
    """Silence until the client disconnects or the time is over; then the connection is dropped."""

    seconds: float


class Cut(Struct, frozen=True):
    """The end of the connection without an end of the message."""


Step = Wait | Head | Send | Silence | Cut


class RequestInfo(Struct, frozen=True):
    """The request's id, and whether it is for a stream."""

    request_id: str
    stream: bool


def reply_steps(answer: AnyAnswer, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    """Yield the steps of an answer, in order."""
    if answer.delay_seconds:
        yield Wait(answer.delay_seconds)
    match answer:
        case Message():
            yield from _whole(answer, context, request)
        case Failure():
            error = refusal(answer.status, kind=answer.type, message=answer.message)
            yield from refusal_steps(error, request.request_id, answer)
        case Overloaded():
            yield from _overloaded(answer, context, request)
        case Drop():
            yield from _dropped(answer, context, request)
        case Hang():
            yield from _part(answer, answer.after_events, context, request)
            yield Silence(HANG_LIMIT_SECONDS if answer.seconds is None else answer.seconds)
        case Malformed():
            yield from _malformed(answer, context, request)
        case _:
            assert_never(answer)


def document_steps(
    value: object, request_id: str, *, status: int = 200, answer: Answer | None = None
) -> Iterator[Step]:
    """Yield the steps that send one JSON document."""
    body = to_bytes(value)
    length = (("content-length", str(len(body))),)
    yield Head(status, _headers(_JSON, request_id, answer) + length)
    yield Send(body)


def refusal_steps(error: Refusal, request_id: str, answer: Answer | None = None) -> Iterator[Step]:
    """Yield the steps that send an error in the API's shape."""
    return document_steps(error.document(request_id), request_id, status=error.status, answer=answer)


def _whole(answer: MessageAnswer, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    if request.stream:
        yield _stream_head(answer, request)
        yield from _event_steps(answer, context)
    else:
        yield from document_steps(message_document(answer, context), request.request_id, answer=answer)


def _overloaded(answer: Overloaded, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    if not request.stream:
        error = Refusal(529, answer.type, answer.message)
        yield from refusal_steps(error, request.request_id, answer)
        return
    yield from _part(answer, answer.after_events, context, request)
    body = {"type": answer.type, "message": answer.message}
    yield Send(sse_event({"type": "error", "error": body, "request_id": request.request_id}).data)


def _dropped(answer: Drop, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    if answer.after_bytes is None:
        yield from _part(answer, answer.after_events, context, request)
    else:
        yield from _first_bytes(_whole(answer, context, request), answer.after_bytes)
    if answer.after_bytes is not None or answer.after_events is not None:
        yield Wait(DROP_DELAY_SECONDS)
    yield Cut()


def _malformed(answer: Malformed, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    usual = _STREAM if request.stream else _JSON
    yield Head(answer.status, _headers(answer.content_type or usual, request.request_id, answer))
    if request.stream:
        yield from _first_events(_event_steps(answer, context), answer.after_events)
    yield Send(answer.text.encode())


def _part(answer: MessageAnswer, count: int | None, context: MessageContext, request: RequestInfo) -> Iterator[Step]:
    """Yield the head and `count` events, nothing for None. Without a stream the body stays empty."""
    if count is None:
        return
    if request.stream:
        yield _stream_head(answer, request)
        yield from _first_events(_event_steps(answer, context), count)
    else:
        yield next(document_steps(message_document(answer, context), request.request_id, answer=answer))


def _event_steps(answer: MessageAnswer, context: MessageContext) -> Iterator[Step]:
    for event in message_events(answer, context):
        if event.is_delta and answer.token_delay_seconds:
            yield Wait(answer.token_delay_seconds)
        yield Send(event.data)


def _first_events(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Yield the steps up to `count` events."""
    left = count
    for step in steps:
        if left == 0:
            return
        left -= isinstance(step, Send)
        yield step


def _first_bytes(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Yield the steps with the body cut after `count` bytes."""
    left = count
    for step in steps:
        if isinstance(step, Send):
            if left == 0:
                return
            yield Send(step.data[:left])
            left -= len(step.data[:left])
        else:
            yield step


def _stream_head(answer: Answer, request: RequestInfo) -> Head:
    return Head(200, _headers(_STREAM, request.request_id, answer))


def _headers(content_type: str, request_id: str, answer: Answer | None) -> tuple[tuple[str, str], ...]:
    """Return the default headers overridden by the script's."""
    defaults = {"content-type": content_type, "cache-control": "no-cache", "request-id": request_id}
    own = {name.lower(): value for name, value in answer.headers.items()} if answer else {}
    return tuple((defaults | own).items())
