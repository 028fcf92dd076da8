"""One question from the first request to its answer: what each request gave, and what is done about its trouble.

What is done about each trouble, as measured:

    refused, reset before an answer,   waited for and tried again, told as Retrying
    slow, 401, 408, 409, 429, 5xx
    529                                the same; a model in demand is given up after three in a row
    404                                asked once more for a whole answer, for servers that do not stream
    any other status                   the end
    an error event before content      waited for in silence, three times; then a whole answer is asked for
    the stream breaks, or is no JSON   Restarted, and a whole answer is asked for; what came is not counted
    the same after a tool was called   Broken: the call has begun and cannot be taken back
    max_tokens does not fit            asked again with what fits
    with another model at hand         it is asked after three 529, a 5xx, or a refusal that lies with the model
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

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
    fitting_max_tokens,
    is_retried,
    request_error_of,
)
from bridle.agent.model.api.stream_assembly import Assembly, whole_answer
from bridle.agent.model.api.stream_pieces import AnswerBroken, AnswerPiece, AnswerRestarted, ModelFallback, Retrying
from bridle.errors import EndpointError, ModelFailure

# So often a stream that begins with an error is asked for again before a whole answer is asked for instead.
STREAM_ATTEMPTS = 3

# With these the fault lies with the request's sender or its place in a queue, and not with the model.
_SAME_FOR_EVERY_MODEL = frozenset({401, 403, 413, 429})


class Attempts:
    """`request`, then `verdict`, then a wait of `delay_seconds`, again and again until `is_over`."""

    def __init__(self, ask: Question, endpoint: Endpoint, retries: int, chance: Callable[[], float]) -> None:
        self._ask = ask
        self._endpoint = endpoint
        self._retries = retries
        self._chance = chance
        self._others = [model for model in ask.fallbacks if model.id != ask.model.id]
        self._has_fallen_back = False
        self._assembly: Assembly | None = None
        self._trouble: RequestError | None = None
        self._request_id: str | None = None
        self._model = ask.model
        self._max_tokens: int | None = None
        self._streams = True
        self._attempt = 1
        self._overloads = 0
        self._stream_faults = 0
        self.is_over = False
        self.delay_seconds = 0.0

    @property
    def refused_credential(self) -> bool:
        """Whether the last request was refused for its key or token."""
        return self._trouble is not None and self._trouble.status == 401

    async def request(self) -> AsyncGenerator[AnswerPiece, None]:
        """Make one request; what it gives is told, what went wrong is kept for the verdict."""
        self._assembly = None
        self._trouble = None
        self.delay_seconds = 0.0
        pieces = self._stream() if self._streams else self._whole()
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except EndpointError as error:
            self._trouble = request_error_of(error)
        else:
            self.is_over = True

    def verdict(self) -> list[AnswerPiece]:
        """Decide what follows; raises ModelFailure when nothing does."""
        if self._trouble is None:
            return []
        if self._trouble.kind in ("stream", "cut", "not_json", "garbled"):
            return self._broke_off(self._trouble)
        if self._trouble.kind == "slow" and self._assembly is not None:
            return self._broke_off(self._trouble)
        return self._failed(self._trouble)

    async def _whole(self) -> AsyncGenerator[AnswerPiece, None]:
        whole = await self._endpoint.whole(self._ask, self._model, self._max_tokens)
        for piece in whole_answer(whole.message, whole.request_id):
            yield piece

    async def _stream(self) -> AsyncGenerator[AnswerPiece, None]:
        frames = self._endpoint.stream(self._ask, self._model, self._max_tokens)
        last: list[AnswerPiece] = []
        async with aclosing(frames):
            async for frame in frames:
                pieces = self._taken(frame)
                if self._assembly is None or self._assembly.has_ended:
                    last = pieces  # told when the connection has been given back
                    continue
                for piece in pieces:
                    yield piece
        if self._assembly is not None and not self._assembly.has_ended:
            kind = "cut" if self._assembly.has_begun else "garbled"
            raise endpoint_error(RequestError(kind, "the stream ended before the answer did"))
        for piece in last:
            yield piece

    def _taken(self, frame: StreamOpened | WholeMessage | dict[str, Any]) -> list[AnswerPiece]:
        if isinstance(frame, WholeMessage):
            return whole_answer(frame.message, frame.request_id)
        if isinstance(frame, StreamOpened):
            self._request_id = frame.request_id
            self._assembly = Assembly(frame.request_id)
            return []
        assert self._assembly is not None  # noqa: S101  # for the type checker: Opened comes first
        kind = frame.get("type")
        if kind == "error":
            raise endpoint_error(_stream_error(frame, self._request_id))
        if not self._assembly.has_begun and kind not in ("message_start", "ping"):
            raise endpoint_error(RequestError("garbled", f"the stream begins with {kind!r}"))
        return self._assembly.take(frame)

    def _broke_off(self, trouble: RequestError) -> list[AnswerPiece]:
        """An answer had begun, or something else than an answer came."""
        assembly = self._assembly
        if not self._streams:
            raise self._failure(replace(trouble, request_id=trouble.request_id or self._request_id))
        if assembly is not None and assembly.is_complete:
            self.is_over = True
            return [assembly.end()]
        if assembly is not None and assembly.has_called:
            self.is_over = True
            return [self._broken(trouble, assembly)]
        restarted: list[AnswerPiece] = [AnswerRestarted()] if assembly is not None and assembly.has_begun else []
        if trouble.kind != "stream" or assembly is None or assembly.has_content:
            self._ask_for_whole()
            return restarted
        return [*restarted, *self._began_with_error(trouble)]

    def _began_with_error(self, trouble: RequestError) -> list[AnswerPiece]:
        self._stream_faults += 1
        if self._stream_faults < STREAM_ATTEMPTS:
            self.delay_seconds = delay_seconds(self._stream_faults, trouble, self._chance())
            return []
        if self._others:
            return self._fall_back("overloaded", trouble)
        self._ask_for_whole()
        return []

    def _failed(self, trouble: RequestError) -> list[AnswerPiece]:
        """The request was refused, or did not reach anybody."""
        fitting = fitting_max_tokens(trouble)
        if fitting is not None and self._max_tokens is None:
            self._max_tokens = fitting
            return []
        if trouble.status == 404 and self._streams:
            self._ask_for_whole()
            return []
        self._overloads = self._overloads + 1 if trouble.is_overload else 0
        trigger = self._trigger(trouble)
        if trigger is not None:
            return self._fall_back(trigger, trouble)
        if self._overloads >= OVERLOADED_ATTEMPTS and self._is_given_up_early:
            raise error_texts.overloaded_too_often(self._situation)
        if not is_retried(trouble) or self._attempt > self._retries:
            raise self._failure(trouble)
        return [self._retry(trouble)]

    def _trigger(self, trouble: RequestError) -> str | None:
        """Why another model is asked now; None: it is not."""
        if not self._others:
            return None
        if trouble.is_overload:
            return "overloaded" if self._overloads >= OVERLOADED_ATTEMPTS else None
        if trouble.is_server_fault:
            return "server_error"
        final = trouble.status is not None and not is_retried(trouble) and not error_texts.is_too_long(trouble)
        return "last_resort" if final and trouble.status not in _SAME_FOR_EVERY_MODEL else None

    @property
    def _is_given_up_early(self) -> bool:
        """Measured: of the models in demand, and of those only the one that was asked for, and only as a stream."""
        return self._streams and not self._has_fallen_back and "opus" in self._model.id

    def _retry(self, trouble: RequestError) -> Retrying:
        self.delay_seconds = delay_seconds(self._attempt, trouble, self._chance())
        attempt = self._attempt
        self._attempt += 1
        word = error_texts.retry_error(trouble)
        return Retrying(attempt, self._retries, self.delay_seconds * 1000, trouble.status, word)

    def _fall_back(self, trigger: str, trouble: RequestError) -> list[AnswerPiece]:
        before, after = self._model, self._others.pop(0)
        self._has_fallen_back = True
        self._start_with(after)
        content = f"Switched to {display_name(after.id)} "
        if trigger == "last_resort":
            said = f"{trouble.status} {trouble.raw or trouble.message}"
            content += f"because {display_name(before.id)} returned an error that could not be retried ({said})"
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

    def _ask_for_whole(self) -> None:
        self._streams = False
        self._attempt = 1
        self._overloads = 0

    def _broken(self, trouble: RequestError, assembly: Assembly) -> AnswerBroken:
        text, error = error_texts.after_blocks(trouble)
        return AnswerBroken(text, error, trouble.status, trouble.request_id, assembly.usage)

    def _failure(self, trouble: RequestError) -> ModelFailure:
        return error_texts.request_failure(trouble, self._situation)

    @property
    def _situation(self) -> RequestContext:
        return RequestContext(self._endpoint.where, self._model.shown, self._endpoint.has_key)


def _stream_error(frame: dict[str, Any], request_id: str | None) -> RequestError:
    error = frame.get("error")
    inner = error if isinstance(error, dict) else {}
    message = inner.get("message")
    kind = inner.get("type")
    return RequestError(
        "stream",
        message if isinstance(message, str) and message else "an error event in the stream",
        type=kind if isinstance(kind, str) else None,
        request_id=request_id,
    )
