"""Whether requests go to a chat endpoint, where it is, and with which key. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.agent.model.api.credentials import NO_SOURCE, Credential, CredentialSource, StaticCredentials, variable
from bridle.agent.model.api.endpoint import selected_cloud
from bridle.agent.model.api.models import CHAT, ENDPOINT, MESSAGES
from bridle.agent.model.http.address import Address, parse_address
from bridle.errors import UsageError

DEFAULT_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
URL = "OPENAI_BASE_URL"


def selects_chat(environment: Mapping[str, str], *, has_credentials: bool) -> bool:
    """Return whether a chat endpoint is selected: by name, or because nothing but its address is set.

    `has_credentials`: whether there is a key, a token or a login for the Messages API.
    """
    named = environment.get(ENDPOINT, "").strip()
    if named not in ("", CHAT, MESSAGES):
        raise UsageError(f"{ENDPOINT} must be {CHAT} or {MESSAGES}, got {named!r}", remedy="Correct or unset it.")
    if named:
        return named == CHAT
    is_messages = has_credentials or bool(environment.get("ANTHROPIC_BASE_URL", "").strip())
    return bool(environment.get(URL, "").strip()) and not is_messages and selected_cloud(environment) is None


def chat_address(environment: Mapping[str, str]) -> Address:
    """Return the address of the endpoint, to which `/chat/completions` is added."""
    try:
        return parse_address(environment.get(URL, "").strip() or DEFAULT_URL)
    except UsageError as error:
        raise UsageError(f"{URL} is invalid: {error.message}", remedy="Correct the variable, or unset it.") from error


def chat_credentials(environment: Mapping[str, str]) -> CredentialSource:
    """Return the key of the endpoint; local servers need none."""
    key = variable(KEY, environment)
    if not key:
        return StaticCredentials(NO_SOURCE, Credential(()), has_key=False)
    return StaticCredentials(KEY, Credential((("authorization", f"Bearer {key}"),)), has_key=True)
