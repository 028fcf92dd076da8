"""Questions to a chat endpoint on loopback that sends exact bytes: answers, errors, retries and lists of models."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from bridle.agent.model.api.models import resolve_model
from bridle.agent.model.api.stream_pieces import (
    AnswerFinished,
    AnswerPiece,
    AnswerRestarted,
    BlockFinished,
    ModelFallback,
    Retrying,
    StreamFrame,
)
from bridle.agent.model.chat.selection import chat_credentials
from bridle.agent.model.client import connect
from bridle.errors import ModelFailure
from tests.agent.fixtures.loopback_server import (
    PATIENCE_SECONDS,
    Peer,
    Server,
    answering,
    chunked,
    ok,
    question,
    serving,
    status,
)


def chunk(finish_reason: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"id": "c1", "choices": [choice]}).encode() + b"\n\n"


USAGE = b'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}\n\n'
FINE = chunked(chunk(role="assistant"), chunk(content="Fi"), chunk("stop", content="ne."), USAGE, b"data: [DONE]\n\n")
MODELS = ok(json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}).encode())
ONE_MODEL = ok(json.dumps({"object": "list", "data": [{"id": "only"}]}).encode())
CALL = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Bash", "arguments": "{}"}}]}


def error(status_code: int, message: str, **fields: Any) -> bytes:
    headers = {name: fields.pop(name) for name in ("retry_after_ms",) if name in fields}
    return status(status_code, json.dumps({"error": {"message": message, **fields}}).encode(), **headers)


class Asked:
    """What became of one question."""

    def __init__(self, server: Server, pieces: list[AnswerPiece], failure: ModelFailure | None) -> None:
        self.server, self.pieces, self._failure = server, pieces, failure

    @property
    def failure(self) -> ModelFailure:
        assert self._failure is not None
        return self._failure

    @property
    def text(self) -> str:
        assert self._failure is None
        return "".join(block["text"] for block in self.blocks if block["type"] == "text")

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return [piece.block for piece in self.pieces if isinstance(piece, BlockFinished)]

    def bodies(self) -> list[Any]:
        return [request.document for request in self.server.requests if request.body]


def ask(*answers: bytes, model: str = "m", key: str = "", retries: str = "3", **fields: Any) -> Asked:
    """Ask one question, of which each request gets the next answer."""

    async def run() -> Asked:
        async with asyncio.timeout(PATIENCE_SECONDS), serving(answering(*answers)) as server:
            environment = {
                "BRIDLE_ENDPOINT": "chat",
                "OPENAI_BASE_URL": f"{server.url}/v1",
                "OPENAI_API_KEY": key,
                "CLAUDE_CODE_MAX_RETRIES": retries,
            }
            client = connect(chat_credentials(environment), environment)
            sent = msgspec.structs.replace(question(), model=resolve_model(model, environment), **fields)
            pieces: list[AnswerPiece] = []
            failure = None
            try:
                async for piece in client.answer(sent):
                    pieces.append(piece)
            except ModelFailure as raised:
                failure = raised
            finally:
                await client.close()
            return Asked(server, pieces, failure)

    return asyncio.run(run())


def test_an_answer_is_streamed_from_the_path_of_the_base_url_with_the_key() -> None:
    asked = ask(FINE, key="sk-1")
    request = asked.server.requests[0]
    assert request.line.startswith("POST /v1/chat/completions ")
    assert (request.headers["authorization"], asked.text) == ("Bearer sk-1", "Fine.")
    assert request.document["model"] == "m"
    frames = [piece.text for piece in asked.pieces if isinstance(piece, StreamFrame) and piece.text]
    assert frames == ["Fi", "ne."]
    ended = asked.pieces[-1]
    assert isinstance(ended, AnswerFinished)
    assert (ended.usage["input_tokens"], ended.usage["output_tokens"]) == (9, 4)


def test_without_a_key_none_is_sent() -> None:
    assert "authorization" not in ask(FINE).server.requests[0].headers


def test_a_server_that_does_not_stream_answers_in_one_document() -> None:
    message = {"role": "assistant", "content": "Fine.", **CALL}
    document = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    asked = ask(ok(json.dumps(document).encode()))
    assert [block["type"] for block in asked.blocks] == ["text", "tool_use"]
    ended = asked.pieces[-1]
    assert isinstance(ended, AnswerFinished)
    assert ended.stop_reason == "tool_use"


def test_without_a_name_the_only_model_is_asked_and_listed_once() -> None:
    asked = ask(ONE_MODEL, FINE, model="default")
    assert [request.line.split()[1] for request in asked.server.requests] == ["/v1/models", "/v1/chat/completions"]
    assert asked.bodies()[0]["model"] == "only"


def test_without_a_name_and_with_several_models_the_failure_lists_them() -> None:
    failure = ask(MODELS, model="default").failure
    assert failure.error == "model_not_found"
    assert failure.text.startswith("No model is chosen for 127.0.0.1:")
    assert failure.text.endswith("Set OPENAI_MODEL, or use --model. It offers: small, large.")


def test_a_model_that_does_not_exist_is_reported_with_those_that_do() -> None:
    missing = error(404, "model 'm' not found", code="model_not_found")
    failure = ask(missing, MODELS, missing, MODELS).failure
    assert (failure.error, failure.status) == ("model_not_found", 404)
    assert "answered: model 'm' not found. It offers: small, large." in failure.text


def test_a_wrong_path_is_reported_as_such() -> None:
    page = status(404, b"<html><body>404 page not found</body></html>", "text/html")
    assert "check OPENAI_BASE_URL, whose path mostly ends with /v1" in ask(page, page, page, page).failure.text


@pytest.mark.parametrize(("key", "advice"), [("", "Set OPENAI_API_KEY"), ("sk-1", "Check OPENAI_API_KEY.")])
def test_a_refused_key_is_reported_with_the_variable(key: str, advice: str) -> None:
    failure = ask(error(401, "bad key"), key=key, retries="0").failure
    assert failure.error == "authentication_failed"
    assert failure.text.startswith("Failed to authenticate. API Error: 401 bad key")
    assert advice in failure.text


@pytest.mark.parametrize(
    ("refused", "name"),
    [
        (error(429, "slow down", retry_after_ms="1"), "rate_limit"),
        (error(500, "oops", retry_after_ms="1"), "server_error"),
        (status(502, b"<html>Bad Gateway</html>", "text/html", retry_after_ms="1"), "server_error"),
        (status(503, b"busy", "text/plain", retry_after_ms="1"), "server_error"),
    ],
)
def test_limits_and_faults_of_the_server_are_retried(refused: bytes, name: str) -> None:
    asked = ask(refused, refused, FINE)
    assert [piece.error for piece in asked.pieces if isinstance(piece, Retrying)] == [name] * 2
    assert asked.text == "Fine."


def test_a_prompt_that_is_too_long_is_the_failure_that_compaction_knows() -> None:
    long = error(
        400, "request (9 tokens) exceeds the available context size (8 tokens)", type="exceed_context_size_error"
    )
    assert ask(long).failure.terminal_reason == "prompt_too_long"


def test_an_answer_that_does_not_fit_is_requested_again_with_what_fits() -> None:
    refused = error(
        400,
        "'max_tokens' is too large: 30000. This model's maximum context length is 32768 tokens and your request has"
        " 10000 input tokens",
    )
    asked = ask(refused, FINE, max_tokens=30000)
    assert [body["max_tokens"] for body in asked.bodies()] == [30000, 32768 - 10000 - 1000]
    assert asked.text == "Fine."


def test_a_stream_that_breaks_is_requested_again_without_streaming() -> None:
    broken = chunked(chunk(role="assistant", content="Fi"))
    message = {"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]}
    asked = ask(broken, ok(json.dumps(message).encode()))
    assert any(isinstance(piece, AnswerRestarted) for piece in asked.pieces)
    assert [body.get("stream") for body in asked.bodies()] == [True, None]
    assert asked.text == "Fine."


def test_an_error_in_the_stream_and_chunks_that_are_no_json_are_requested_again() -> None:
    whole = ok(json.dumps({"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]}).encode())
    fault = chunked(chunk(content="Fi"), b'data: {"error": {"message": "lost"}}\n\n')
    assert ask(fault, whole).text == "Fine."
    assert ask(chunked(chunk(content="Fi"), b"data: oops\n\n"), whole).text == "Fine."


@pytest.mark.parametrize("body", [b"oops", b"{}", b'{"error": {"message": "no"}}'])
def test_an_answer_that_is_no_completion_is_a_failure(body: bytes) -> None:
    assert "API Error" in ask(ok(body), ok(body)).failure.text


def test_an_error_with_the_status_200_is_reported_with_its_reason_and_retried_by_its_code() -> None:
    refused, lost, unknown = (
        ok(json.dumps({"error": {"message": "the quota is used up", "code": code}}).encode())
        for code in (400, 502, "odd")
    )
    assert "the quota is used up" in ask(refused).failure.text
    assert ask(lost, FINE).text == "Fine."
    assert ask(unknown, FINE).text == "Fine."


def test_a_server_that_refuses_stream_options_is_asked_without_them() -> None:
    refused = error(400, "Unrecognized request argument supplied: stream_options")
    asked = ask(refused, FINE)
    assert asked.text == "Fine."
    assert ["stream_options" in json.loads(request.body) for request in asked.server.requests] == [True, False]


def test_questions_that_are_refused_at_the_same_time_are_all_asked_without_stream_options() -> None:
    async def run() -> list[str]:
        both = asyncio.Barrier(2)

        async def play(peer: Peer, _server: Server) -> None:
            while (request := await peer.request()) is not None:
                if "stream_options" in request.document:
                    await both.wait()
                await peer.send(error(400, "unknown: stream_options") if "stream_options" in request.document else FINE)

        async with asyncio.timeout(PATIENCE_SECONDS), serving(play) as server:
            environment = {"BRIDLE_ENDPOINT": "chat", "OPENAI_BASE_URL": f"{server.url}/v1"}
            client = connect(chat_credentials(environment), environment)
            sent = msgspec.structs.replace(question(), model=resolve_model("m", environment))

            async def answer() -> str:
                blocks = [piece.block async for piece in client.answer(sent) if isinstance(piece, BlockFinished)]
                return "".join(block["text"] for block in blocks)

            try:
                return list(await asyncio.gather(answer(), answer()))
            finally:
                await client.close()

    assert asyncio.run(run()) == ["Fine.", "Fine."]


def test_another_model_takes_over_after_an_error_that_cannot_be_retried() -> None:
    environment = {"BRIDLE_ENDPOINT": "chat"}
    asked = ask(error(400, "no"), FINE, fallbacks=(resolve_model("other", environment),))
    assert [piece.fallback for piece in asked.pieces if isinstance(piece, ModelFallback)] == ["other"]
    assert [body["model"] for body in asked.bodies()] == ["m", "other"]
