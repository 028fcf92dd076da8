"""Error documents of chat servers, as each of them words the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.agent.model.api.error_texts import RequestContext, is_too_long, request_failure
from bridle.agent.model.api.request_errors import RequestError, fitting_max_tokens, is_retried
from bridle.agent.model.chat.chat_errors import chat_error

OPENAI_LONG = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. Your messages resulted in 9001 tokens.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
LLAMA_LONG = {
    "error": {
        "code": 400,
        "message": "request (20018 tokens) exceeds the available context size (16384 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 20018,
        "n_ctx": 16384,
    }
}
VLLM_LONG = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages,"
    " Please reduce the length of the messages.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}


def read(status: int, document: Any, **headers: str) -> RequestError:
    text = document if isinstance(document, str) else json.dumps(document)
    return chat_error(status, {name.replace("_", "-"): value for name, value in headers.items()}, text, now=0.0)


@pytest.mark.parametrize("document", [OPENAI_LONG, LLAMA_LONG, VLLM_LONG])
def test_a_prompt_that_is_too_long_is_worded_as_by_the_messages_api(document: Any) -> None:
    error = read(400, document)
    assert is_too_long(error)
    failure = request_failure(error, RequestContext("host", "m", has_key=False))
    assert (failure.terminal_reason, failure.status) == ("prompt_too_long", 400)
    assert failure.text.startswith("Prompt is too long · ")
    assert str(error.message).endswith(document.get("error", document)["message"])


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
            " (2000 in the messages, 7000 in the completion). Please reduce the length of the messages or completion.",
            id="OpenAI",
        ),
        pytest.param(
            "'max_tokens' or 'max_completion_tokens' is too large: 7000. This model's maximum context length is"
            " 8192 tokens and your request has 2000 input tokens (7000 > 8192 - 2000).",
            id="vLLM",
        ),
    ],
)
def test_an_answer_that_does_not_fit_is_requested_with_what_fits(message: str) -> None:
    error = read(400, {"error": {"message": message, "type": "invalid_request_error"}})
    assert fitting_max_tokens(error) == 8192 - 2000 - 1000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"message": "no", "code": 500}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body"], "msg": "no"}, {"msg": "never"}]}, "no; never"),
        ("upstream\n  is gone", "upstream is gone"),
        (
            "<html><head><style>p{}</style><title>502</title></head><body><p>Bad  Gateway</p></body></html>",
            "502 Bad Gateway",
        ),
        ("", "status 500"),
        ("[1]", "[1]"),
        ('{"error": [1]}', '{"error": [1]}'),
    ],
)
def test_the_message_is_found_in_documents_of_every_form(body: Any, message: str) -> None:
    error = read(500, body)
    assert error.message == message
    assert is_retried(error)


def test_a_limit_of_requests_is_waited_for_but_an_empty_account_is_not() -> None:
    error = read(429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, retry_after="7")
    assert (is_retried(error), error.retry_after_seconds) == (True, 7.0)
    empty = read(429, {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}})
    assert not is_retried(empty)


def test_an_overload_is_known_by_its_name() -> None:
    assert read(503, {"error": {"message": "busy", "type": "engine_overloaded"}}).is_overload


def test_a_missing_model_is_a_404_whatever_the_status_was() -> None:
    error = read(400, {"error": {"message": "no such model", "code": "model_not_found"}}, x_request_id="r1")
    assert (error.status, error.request_id) == (404, "r1")


def test_other_errors_are_not_taken_for_a_long_prompt() -> None:
    for message in ("the context of this error is unknown", "tokens are missing", "invalid request"):
        assert not is_too_long(read(400, {"error": {"message": message}}))
    assert not is_too_long(read(429, {"error": {"message": "too many tokens per minute"}}))
