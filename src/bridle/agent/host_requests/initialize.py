"""The answer to `initialize`: what a host learns about the session before the first prompt."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from bridle.agent.control.control_handlers import Extended, Handler, Payload
from bridle.agent.model.api.models import EFFORTS, Model, Thinking, resolve_model
from bridle.wire.control.requests import Initialize, read_initialize
from bridle.wire.events.loose_json import JsonObject

# The models that a host lists, in this order.
LISTED = ("default", "sonnet", "haiku", "opus", "fable")


class Account(msgspec.Struct, frozen=True, rename="camel"):
    """The credential of the session."""

    token_source: str = "none"  # noqa: S105 -- a word of the protocol
    api_key_source: str = "none"
    api_provider: str = "firstParty"


class ListedModel(msgspec.Struct, kw_only=True, rename="camel"):
    """A model that the user of a host may choose."""

    value: str
    resolved_model: str
    display_name: str
    description: str
    supports_effort: bool | UnsetType = UNSET
    supported_effort_levels: list[str] | UnsetType = UNSET
    supports_adaptive_thinking: bool | UnsetType = UNSET


class InitializeResponse(msgspec.Struct, kw_only=True):
    """The answer to `initialize`."""

    commands: list[dict[str, str]]
    agents: list[JsonObject]
    output_style: str = "default"
    available_output_styles: tuple[str, ...] = ("default",)
    models: list[ListedModel]
    account: Account
    pid: int
    hook_on_failure_supported: bool | UnsetType = UNSET
    hooks_applied: bool | UnsetType = UNSET


class OpenedSession(msgspec.Struct, frozen=True):
    """What a host learns about the session, and the program that applies what the host sent."""

    commands: Callable[[], list[dict[str, str]]]
    agents: Callable[[], list[JsonObject]]
    account: Account
    apply: tuple[Callable[[Initialize], None], ...]
    """Each applies a part of the request, in this order. Raises UserError if it is invalid."""
    environment: Mapping[str, str]
    prompts: Callable[[], list[JsonObject]]
    """Returns the requests about calls that the host has not answered yet."""


def initialize_handlers(session: OpenedSession) -> dict[str, Handler]:
    """Return the handler of `initialize`; a host that comes back also learns what it was asked and did not answer."""
    has_begun = False

    def initialize(request: JsonObject) -> Payload | Extended:
        nonlocal has_begun
        sent = read_initialize(request)
        for apply in session.apply:
            apply(sent)
        response, is_back = _response(session, has_hooks=bool(sent.hooks)), has_begun
        has_begun = True
        return Extended(response, _pending(session)) if is_back else response

    return {"initialize": initialize}


def _pending(session: OpenedSession) -> JsonObject:
    return {"pending_permission_requests": session.prompts(), "pending_user_dialog_requests": []}


def _response(session: OpenedSession, *, has_hooks: bool) -> JsonObject:
    response = InitializeResponse(
        commands=session.commands(),
        agents=session.agents(),
        models=[_listed_model(resolve_model(alias, session.environment), alias) for alias in LISTED],
        account=session.account,
        pid=os.getpid(),
    )
    if has_hooks:
        response.hook_on_failure_supported = response.hooks_applied = True
    fields: JsonObject = msgspec.to_builtins(response)
    return fields


def _listed_model(model: Model, alias: str) -> ListedModel:
    listed = ListedModel(
        value=alias,
        resolved_model=model.shown,
        display_name=alias.capitalize(),
        description=f"{model.shown}, {model.context_window // 1000}k tokens of context",
    )
    if model.kind.effort is not None:
        listed.supports_effort = True
        listed.supported_effort_levels = [
            level for level in EFFORTS if level not in ("xhigh", "max") or level in model.kind.top_efforts
        ]
    if model.thinking is Thinking.ADAPTIVE:
        listed.supports_adaptive_thinking = True
    return listed
