"""The requests of one question until it is answered: retries, fallbacks, and requests without streaming.

How each error is handled, as in Claude Code:

    refused, reset before an answer,   retried after a delay, reported as Retrying
    slow, 401, 408, 409, 429, 5xx
    529                                the same; a model in high demand fails after three in a row
    404                                requested once without streaming, for servers that do not stream
    any other status                   fails
    an error event before content      retried silently, three times; then requested without streaming
    the stream breaks or is not JSON   AnswerRestarted, then requested without streaming; its usage is not counted
    the same after a tool call         AnswerBroken: the call has started and cannot be undone
    max_tokens does not fit            requested again with what fits
    with a fallback model              used after three 529, a 5xx, or an error that depends on the model
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec.structs import replace

from bridle.agent.model.api import error_texts
from bridle.agent.model.api.endpoint import Endpoint, StreamOpened, WholeMessage
from bridle.agent.model.api.error_texts import RequestContext
from bridle.agent.model.api.models import Model, display_name
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.request_errors import (
    OVERLOADED_ATTEMPTS,
    RequestError,
    delay_seconds,
    endpoint_error,
    error_fields,
    fitting_max_tokens,
    is_retried,
    request_error_of,
)
from bridle.agent.model.api.stream_assembly import Assembly, decode_frame, whole_answer
from bridle.agent.model.api.stream_pieces import (
    AnswerBroken,
    AnswerPiece,
    AnswerRestarted,
    JsonObject,
    ModelFallback,
    Retrying,
)
from bridle.errors import EndpointError, ModelFailure

# How often a stream that starts with an error is requested before a request without streaming.
STREAM_ATTEMPTS = 3

# Statuses that do not depend on the model.
_SAME_FOR_EVERY_MODEL = frozenset({401, 403, 413, 429})


class Attempts:
    """Call `request`, then `decide`, then wait `delay_seconds`; repeat until `is_over`."""

    def __init__(self, question: Question, endpoint: Endpoint, retries: int, chance: Callable[[], float]) -> None:
        self._question = question
        self._endpoint = endpoint
        self._retries = retries
        self._chance = chance
        self._others = [model for model in question.fallbacks if model.id != question.model.id]
        self._has_fallen_back = False
        self._assembly: Assembly | None = None
        self._error: RequestError | None = None
        self._request_id: str | None = None
        self._model = question.model
        self._max_tokens: int | None = None
        self._streams = True
        self._attempt = 1
        self._overloads = 0
        self._stream_faults = 0
        self.is_over = False
        self.delay_seconds = 0.0

    @property
    def refused_credential(self) -> bool:
        """Whether the last request was rejected for its credential."""
        return self._error is not None and self._error.status == 401

    async def request(self) -> AsyncGenerator[AnswerPiece, None]:
        """Make one request and yield its pieces; an error is kept for `decide`."""
        self._assembly = None
        self._error = None
        self.delay_seconds = 0.0
        pieces = self._stream() if self._streams else self._whole()
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except EndpointError as error:
            self._error = request_error_of(error)
        else:
            self.is_over = True

    def decide(self) -> list[AnswerPiece]:
        """Prepare the next request; raise ModelFailure after the last one."""
        if self._error is None:
            return []
        if self._error.kind in ("stream", "cut", "not_json", "garbled"):
            return self._stream_failed(self._error)
        if self._error.kind == "slow" and self._assembly is not None:
            return self._stream_failed(self._error)
        return self._request_failed(self._error)

    async def _whole(self) -> AsyncGenerator[AnswerPiece, None]:
        whole = await self._endpoint.whole(self._question, self._model, self._max_tokens)
        for piece in whole_answer(whole.message, whole.request_id):
            yield piece

    async def _stream(self) -> AsyncGenerator[AnswerPiece, None]:
        frames = self._endpoint.stream(self._question, self._model, self._max_tokens)
        last: list[AnswerPiece] = []
        async with aclosing(frames):
            async for frame in frames:
                pieces = self._handle(frame)
                if self._assembly is None or self._assembly.has_ended:
                    last = pieces  # yielded after the connection was released
                    continue
                for piece in pieces:
                    yield piece
        if self._assembly is not None and not self._assembly.has_ended:
            kind = "cut" if self._assembly.has_begun else "garbled"
            raise endpoint_error(RequestError(kind, "the stream ended before the answer did"))
        for piece in last:
            yield piece

    def _handle(self, frame: StreamOpened | WholeMessage | JsonObject) -> list[AnswerPiece]:
        if isinstance(frame, WholeMessage):
            return whole_answer(frame.message, frame.request_id)
        if isinstance(frame, StreamOpened):
            self._request_id = frame.request_id
            self._assembly = Assembly(frame.request_id)
            return []
        assert self._assembly is not None  # noqa: S101  # for the type checker: Opened comes first
        decoded = decode_frame(frame)
        if decoded.type == "error":
            raise endpoint_error(_stream_error(frame, self._request_id))
        if not self._assembly.has_begun and decoded.type not in ("message_start", "ping"):
            raise endpoint_error(RequestError("garbled", f"the stream begins with {decoded.type!r}"))
        return self._assembly.add(frame, decoded)

    def _stream_failed(self, error: RequestError) -> list[AnswerPiece]:
        """Handle an answer that was cut or was not an answer."""
        assembly = self._assembly
        if not self._streams:
            raise self._failure(replace(error, request_id=error.request_id or self._request_id))
        if assembly is not None and assembly.is_complete:
            self.is_over = True
            return [assembly.end()]
        if assembly is not None and assembly.has_called:
            self.is_over = True
            return [self._broken(error, assembly)]
        restarted: list[AnswerPiece] = [AnswerRestarted()] if assembly is not None and assembly.has_begun else []
        if error.kind != "stream" or assembly is None or assembly.has_content:
            self._request_whole()
            return restarted
        return [*restarted, *self._started_with_error(error)]

    def _started_with_error(self, error: RequestError) -> list[AnswerPiece]:
        self._stream_faults += 1
        if self._stream_faults < STREAM_ATTEMPTS:
            self.delay_seconds = delay_seconds(self._stream_faults, error, self._chance())
            return []
        if self._others:
            return self._fall_back("overloaded", error)
        self._request_whole()
        return []

    def _request_failed(self, error: RequestError) -> list[AnswerPiece]:
        """Handle a request that was rejected or did not reach the server."""
        fitting = fitting_max_tokens(error)
        if fitting is not None and self._max_tokens is None:
            self._max_tokens = fitting
            return []
        if error.status == 404 and self._streams:
            self._request_whole()
            return []
        self._overloads = self._overloads + 1 if error.is_overload else 0
        trigger = self._trigger(error)
        if trigger is not None:
            return self._fall_back(trigger, error)
        if self._overloads >= OVERLOADED_ATTEMPTS and self._fails_when_overloaded:
            raise error_texts.overloaded_too_often(self._context)
        if not is_retried(error) or self._attempt > self._retries:
            raise self._failure(error)
        return [self._retry(error)]

    def _trigger(self, error: RequestError) -> str | None:
        """Return why the fallback model is used now; None if it is not."""
        if not self._others:
            return None
        if error.is_overload:
            return "overloaded" if self._overloads >= OVERLOADED_ATTEMPTS else None
        if error.is_server_fault:
            return "server_error"
        final = error.status is not None and not is_retried(error) and not error_texts.is_too_long(error)
        return "last_resort" if final and error.status not in _SAME_FOR_EVERY_MODEL else None

    @property
    def _fails_when_overloaded(self) -> bool:
        """Whether repeated overload is final: for the requested Opus model and streams only, as in Claude Code."""
        return self._streams and not self._has_fallen_back and "opus" in self._model.id

    def _retry(self, error: RequestError) -> Retrying:
        self.delay_seconds = delay_seconds(self._attempt, error, self._chance())
        attempt = self._attempt
        self._attempt += 1
        name = error_texts.retry_error(error)
        return Retrying(attempt, self._retries, self.delay_seconds * 1000, error.status, name)

    def _fall_back(self, trigger: str, error: RequestError) -> list[AnswerPiece]:
        before, after = self._model, self._others.pop(0)
        self._has_fallen_back = True
        self._start_with(after)
        content = f"Switched to {display_name(after.id)} "
        if trigger == "last_resort":
            reason = f"{error.status} {error.raw or error.message}"
            content += f"because {display_name(before.id)} returned an error that could not be retried ({reason})"
        else:
            content += f"due to high demand for {display_name(before.id)}"
        return [ModelFallback(before.id, after.id, after, trigger, content)]

    def _start_with(self, model: Model) -> None:
        self._model = model
        self._max_tokens = None
        self._streams = True
        self._attempt = 1
        self._overloads = 0
        self._stream_faults = 0

    def _request_whole(self) -> None:
        self._streams = False
        self._attempt = 1
        self._overloads = 0

    def _broken(self, error: RequestError, assembly: Assembly) -> AnswerBroken:
        text, kind = error_texts.after_blocks(error)
        return AnswerBroken(text, kind, error.status, error.request_id, assembly.usage)

    def _failure(self, error: RequestError) -> ModelFailure:
        return error_texts.request_failure(error, self._context)

    @property
    def _context(self) -> RequestContext:
        return RequestContext(self._endpoint.where, self._model.shown, self._endpoint.has_key)


def _stream_error(frame: JsonObject, request_id: str | None) -> RequestError:
    kind, message = error_fields(frame)
    return RequestError("stream", message or "an error event in the stream", type=kind, request_id=request_id)
