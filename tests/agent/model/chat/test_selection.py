"""When a chat endpoint is used, where it is, and which model it is asked for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from bridle.agent.model.api.models import CHAT_WINDOW, resolve_model, small_model
from bridle.agent.model.chat.selection import chat_address, chat_credentials, selects_chat
from bridle.errors import UsageError
from tests.agent.fixtures.loopback_server import PATIENCE_SECONDS, answering, ok, serving, status

URL = {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}
CHAT = {"BRIDLE_ENDPOINT": "chat"}


@pytest.mark.parametrize(
    ("environment", "has_credentials", "chosen"),
    [
        (URL, False, True),
        (URL, True, False),
        ({**URL, "ANTHROPIC_BASE_URL": "http://x"}, False, False),
        ({**URL, "ANTHROPIC_BASE_URL": " "}, False, True),
        ({**URL, "CLAUDE_CODE_USE_BEDROCK": "1"}, False, False),
        ({"OPENAI_API_KEY": "k"}, False, False),
        ({**URL, **CHAT}, True, True),
        ({**CHAT, "OPENAI_API_KEY": "k"}, True, True),
        ({**URL, "BRIDLE_ENDPOINT": "messages"}, False, False),
        ({}, False, False),
    ],
)
def test_a_chat_endpoint_is_named_or_the_only_one(
    environment: dict[str, str], *, has_credentials: bool, chosen: bool
) -> None:
    assert selects_chat(environment, has_credentials=has_credentials) is chosen


def test_an_unknown_kind_of_endpoint_is_refused() -> None:
    with pytest.raises(UsageError, match="BRIDLE_ENDPOINT must be chat or messages, got 'openai'"):
        selects_chat({"BRIDLE_ENDPOINT": "openai"}, has_credentials=False)


def test_the_address_keeps_its_path_and_has_a_default() -> None:
    assert (chat_address(URL).netloc, chat_address(URL).path) == ("127.0.0.1:8080", "/v1")
    assert (chat_address({}).host, chat_address({}).path) == ("api.openai.com", "/v1")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is invalid"):
        chat_address({"OPENAI_BASE_URL": "localhost"})


def test_a_key_is_sent_where_there_is_one() -> None:
    with_key = chat_credentials({"OPENAI_API_KEY": "sk-1"})
    assert asyncio.run(with_key.current()).headers == (("authorization", "Bearer sk-1"),)
    assert (with_key.source, with_key.has_key) == ("OPENAI_API_KEY", True)
    without = chat_credentials({"OPENAI_API_KEY": ""})
    assert asyncio.run(without.current()).headers == ()
    assert (without.source, without.has_key) == ("none", False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY must be printable"):
        chat_credentials({"OPENAI_API_KEY": "a\nb"})


@pytest.mark.parametrize(
    ("name", "environment", "model"),
    [
        ("qwen3:8b", {}, "qwen3:8b"),
        (None, {"OPENAI_MODEL": "qwen3:8b"}, "qwen3:8b"),
        ("mistral", {"OPENAI_MODEL": "qwen3:8b"}, "mistral"),
        ("sonnet", {"OPENAI_MODEL": "qwen3:8b"}, "qwen3:8b"),
        ("sonnet", {"OPENAI_MODEL": "q", "ANTHROPIC_DEFAULT_SONNET_MODEL": "large"}, "large"),
        ("sonnet", {}, "default"),
        (None, {}, "default"),
    ],
)
def test_a_model_is_named_as_the_server_names_it(name: str | None, environment: dict[str, str], model: str) -> None:
    found = resolve_model(name, {**CHAT, **environment})
    assert (found.id, found.shown, found.betas, found.context_window) == (model, model, (), CHAT_WINDOW)
    assert not found.takes_system_messages


def test_the_settings_name_a_model_and_the_environment_its_window() -> None:
    assert resolve_model(None, CHAT, setting="local").id == "local"
    assert resolve_model(None, CHAT, setting="opus").id == "default"
    assert resolve_model("m", {**CHAT, "BRIDLE_CONTEXT_TOKENS": "8192"}).context_window == 8192
    assert small_model({**CHAT, "ANTHROPIC_DEFAULT_HAIKU_MODEL": "small"}).id == "small"
    assert small_model({**CHAT, "OPENAI_MODEL": "m"}).id == "m"


@pytest.mark.parametrize(
    ("models", "environment", "text"),
    [
        (["only"], {}, "{where} without a key, model only"),
        (["a", "b"], {"OPENAI_MODEL": "b", "OPENAI_API_KEY": "k"}, "{where} with OPENAI_API_KEY, model b"),
        (["a", "b"], {}, "{where} without a key; choose a model with OPENAI_MODEL or --model: a, b"),
        (["a"], {"OPENAI_MODEL": "c"}, "{where} without a key; it does not list the model c but: a"),
    ],
)
def test_auth_status_shows_the_endpoint_and_its_models(
    models: list[str], environment: dict[str, str], text: str
) -> None:
    listed = ok(json.dumps({"data": [{"id": name} for name in models]}).encode())
    shown, url = status_of(environment, listed)
    assert shown == f"requests use the chat endpoint {text.format(where=url)}\n"


def test_auth_status_says_why_an_endpoint_cannot_be_used() -> None:
    shown, url = status_of({}, status(401, b'{"error": {"message": "no key"}}'))
    remedy = "Check OPENAI_BASE_URL and OPENAI_API_KEY."
    assert shown == f"the chat endpoint {url} does not list its models: no key. {remedy}\n"


def status_of(environment: dict[str, str], answer: bytes) -> tuple[str, str]:
    """Run `bridle-agent auth status` on a server with this list of models; return its output and the server's host."""

    async def run() -> tuple[str, str]:
        async with asyncio.timeout(PATIENCE_SECONDS), serving(answering(answer)) as server:
            command = Path(sys.executable).with_name("bridle-agent")
            child = await asyncio.create_subprocess_exec(
                command,
                *("auth", "status"),
                env={**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1", **environment},
                stdout=asyncio.subprocess.PIPE,
            )
            output, _ = await child.communicate()
            return output.decode(), server.url.removeprefix("http://")

    return asyncio.run(run())
