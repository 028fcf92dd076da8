"""Asks a chat endpoint for its models, to tell the user whether it can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from bridle.agent.model.api.models import CHAT, DEFAULT_CHAT_MODEL, ENDPOINT, resolve_model
from bridle.agent.model.chat.chat_endpoint import ChatEndpoint, shown_models
from bridle.agent.model.chat.selection import KEY, chat_credentials
from bridle.errors import EndpointError

# A local server answers at once; a gateway may ask its own servers first.
LIST_SECONDS = 10.0


def describe_endpoint(environment: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether the endpoint answers and has the model, and a description of either."""
    return asyncio.run(_describe({**environment, ENDPOINT: CHAT}))


async def _describe(environment: Mapping[str, str]) -> tuple[bool, str]:
    credentials = chat_credentials(environment)
    endpoint = ChatEndpoint(credentials, environment)
    where = f"the chat endpoint {endpoint.where}"
    try:
        async with asyncio.timeout(LIST_SECONDS):
            names = await endpoint.models()
    except EndpointError as error:
        return False, f"{where} does not list its models: {error.message}. Check OPENAI_BASE_URL and {KEY}."
    except TimeoutError:
        return False, f"{where} did not answer for {LIST_SECONDS:g} seconds. Check OPENAI_BASE_URL."
    finally:
        await endpoint.close()
    paid = f"with {KEY}" if credentials.has_key else "without a key"
    model = resolve_model(None, environment).id
    if (model == DEFAULT_CHAT_MODEL and len(names) == 1) or model in names:
        return True, f"{where} {paid}, model {names[0] if model == DEFAULT_CHAT_MODEL else model}"
    if model == DEFAULT_CHAT_MODEL:
        return True, f"{where} {paid}; choose a model with OPENAI_MODEL or --model: {shown_models(names)}"
    return True, f"{where} {paid}; it does not list the model {model} but: {shown_models(names)}"
