"""One request to a chat endpoint over HTTP, in and out in the form of the Messages API."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from msgspec.structs import replace

from bridle.agent.model.api.api_json import decode_json, encode_json
from bridle.agent.model.api.credentials import CredentialSource
from bridle.agent.model.api.endpoint import StreamOpened, WholeMessage, timeouts_from_environment
from bridle.agent.model.api.models import DEFAULT_CHAT_MODEL, Model
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.read_response import read_document, read_error
from bridle.agent.model.api.request_errors import RequestError, endpoint_error, from_network, request_error_of
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.agent.model.chat.chat_document import whole_message
from bridle.agent.model.chat.chat_errors import chat_error, error_parts
from bridle.agent.model.chat.chat_request import build_chat_body, build_chat_headers, sent_names
from bridle.agent.model.chat.chat_stream import ChatAnswer, ChatReader, make_answer
from bridle.agent.model.chat.selection import chat_address
from bridle.agent.model.http.http_client import HttpClient, HttpExchange, HttpResponse
from bridle.errors import EndpointError, ModelFailure, NetworkError

# A list of models has a few hundred bytes for each; gateways offer hundreds.
_LIST_LIMIT_BYTES = 8 * 1024 * 1024
# Above this an error message would not be read.
_SHOWN_MODELS = 20


class ChatEndpoint:
    """A chat endpoint that answers as if it were one of the Messages API."""

    def __init__(self, credentials: CredentialSource, environment: Mapping[str, str]) -> None:
        self._credentials = credentials
        self._environment = environment
        self._address = chat_address(environment)
        self._server = HttpClient(self._address, environment, timeouts_from_environment(environment))
        self._default_model: str | None = None
        self._asks_for_usage = True

    @property
    def where(self) -> str:
        """Host and port."""
        return self._address.netloc

    @property
    def has_key(self) -> bool:
        """Whether requests have a key."""
        return self._credentials.has_key

    async def stream(
        self, question: Question, model: Model, max_tokens: int | None
    ) -> AsyncGenerator[StreamOpened | WholeMessage | JsonObject, None]:
        """Request a stream and yield its frames."""
        has_asked_for_usage = self._asks_for_usage  # another question may have been refused in the meantime
        try:
            model_id = await self._model_id(model)
            async with await self._request(question, model_id, max_tokens, stream=True) as response:
                await self._check(response)
                if response.is_json:
                    yield await self._document(response, question, model_id)
                    return
                yield StreamOpened(_request_id(response))
                reader = ChatReader(_empty_answer(question, model_id))
                while (chunk := await response.next()) is not None:
                    for frame in _frames(reader, chunk):
                        yield frame
                    if reader.has_ended:
                        return  # without waiting for the end of the body: the connection is reused
                for frame in _frames(reader, None):
                    yield frame
        except NetworkError as error:
            raise endpoint_error(from_network(error)) from error
        except EndpointError as error:
            if not (has_asked_for_usage and _refuses_usage(request_error_of(error))):
                raise
            self._asks_for_usage = False
            async for piece in self.stream(question, model, max_tokens):
                yield piece

    async def whole(self, question: Question, model: Model, max_tokens: int | None) -> WholeMessage:
        """Request the answer in one document."""
        try:
            model_id = await self._model_id(model)
            async with await self._request(question, model_id, max_tokens, stream=False) as response:
                await self._check(response)
                return await self._document(response, question, model_id)
        except NetworkError as error:
            raise endpoint_error(from_network(error)) from error

    async def models(self) -> list[str]:
        """Return the names of the models that the endpoint offers. Raises EndpointError if it does not say."""
        headers = build_chat_headers((await self._credentials.current()).headers, self._environment)
        try:
            async with self._server.request("GET", f"{self._address.path}/models", headers, b"") as response:
                text = (await response.read(_LIST_LIMIT_BYTES)).decode("utf-8", "replace")
                if response.status != 200:
                    raise endpoint_error(chat_error(response.status, response.headers, text, now=time.time()))
        except NetworkError as error:
            raise endpoint_error(from_network(error)) from error
        return _listed_models(text)

    async def refuse_credential(self) -> None:
        """Do nothing: there is no other key."""

    async def close(self) -> None:
        self._server.close()

    async def _request(
        self, question: Question, model_id: str, max_tokens: int | None, *, stream: bool
    ) -> HttpExchange:
        headers = build_chat_headers((await self._credentials.current()).headers, self._environment)
        body = build_chat_body(
            question, model_id, self._environment, stream=stream, max_tokens=max_tokens, host=self._address.host
        )
        if not self._asks_for_usage:
            body.pop("stream_options", None)
        return self._server.request("POST", f"{self._address.path}/chat/completions", headers, encode_json(body))

    async def _model_id(self, model: Model) -> str:
        """Return the model to ask: without a name, the only one that the endpoint has."""
        if model.id != DEFAULT_CHAT_MODEL:
            return model.id
        if self._default_model is None:
            names = await self.models()
            if len(names) != 1:
                offered = f"It offers: {shown_models(names)}." if names else "It lists none."
                text = f"No model is chosen for {self.where}. Set OPENAI_MODEL, or use --model. {offered}"
                raise ModelFailure(text, error="model_not_found")
            self._default_model = names[0]
        return self._default_model

    async def _check(self, response: HttpResponse) -> None:
        """Raise EndpointError unless the status is 200."""
        if response.status == 200:
            return
        text = await read_error(response)
        error = chat_error(response.status, response.headers, text, now=time.time())
        raise endpoint_error(replace(error, advice=await self._advice(error)))

    async def _advice(self, error: RequestError) -> str:
        match error.status:
            case 401 | 403:
                return "Check OPENAI_API_KEY." if self.has_key else f"Set OPENAI_API_KEY, which {self.where} needs."
            case 404:
                return f"{self.where} answered: {error.message.rstrip('.')}. {await self._offer()}"
        return ""

    async def _offer(self) -> str:
        try:
            names = await self.models()
        except EndpointError:
            return "It has no list of models either: check OPENAI_BASE_URL, whose path mostly ends with /v1."
        return f"It offers: {shown_models(names)}." if names else "It lists no models."

    async def _document(self, response: HttpResponse, question: Question, model_id: str) -> WholeMessage:
        request_id = _request_id(response)
        document, data = await read_document(response, request_id)
        message = whole_message(document, _empty_answer(question, model_id))
        if message is None:
            raise endpoint_error(_document_error(document, response, data, request_id))
        return WholeMessage(message, request_id)


def _empty_answer(question: Question, model_id: str) -> ChatAnswer:
    blocks = [block for message in question.messages for block in message["content"] if isinstance(block, dict)]
    used_ids = [block["id"] for block in blocks if block.get("type") == "tool_use" and "id" in block]
    return make_answer(model_id, sent_names(question.tools), used_ids, _new_id)


def _new_id() -> str:
    """Return an id of nine letters and digits: the only form that every server accepts."""
    return os.urandom(5).hex()[:9]


def _frames(reader: ChatReader, data: bytes | None) -> list[JsonObject]:
    try:
        return reader.finish() if data is None else reader.feed(data)
    except ValueError as error:
        raise endpoint_error(RequestError("not_json", f"a chunk of the stream is not JSON: {error}")) from error


def _request_id(response: HttpResponse) -> str | None:
    return response.headers.get("x-request-id") or response.request_id


def _refuses_usage(error: RequestError) -> bool:
    """Return whether an older server refuses to report the usage of a stream."""
    return error.status in (400, 422) and "stream_options" in f"{error.message} {error.raw}"


def _document_error(document: Any, response: HttpResponse, data: bytes, request_id: str | None) -> RequestError:
    """Return why a document is not a completion; some gateways send an error with the status 200."""
    error = document.get("error") if isinstance(document, dict) else None
    if not error or not error_parts(document)[1]:
        return RequestError("garbled", "the answer is not a chat completion", request_id=request_id)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return chat_error(status, response.headers, data.decode("utf-8", "replace"), now=time.time())


def _listed_models(text: str) -> list[str]:
    try:
        document = decode_json(text.encode())
    except ValueError:
        return []
    listed = document.get("data") if isinstance(document, dict) else None
    names = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str)]


def shown_models(names: list[str]) -> str:
    """Return the names of models for a message."""
    more = f" and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
    return ", ".join(names[:_SHOWN_MODELS]) + more
