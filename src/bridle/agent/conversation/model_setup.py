"""The settings of a conversation: fixed options, and what a control request may change between requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec

from bridle.agent.model.api.models import Model
from bridle.agent.model.api.question import Block
from bridle.agent.permissions.rules.policy import Policy, with_shell_folder
from bridle.agent.permissions.rules.syntax import Rule
from bridle.agent.prompt.instructions import Instructions


class Limits(msgspec.Struct, frozen=True):
    """The limits at which a turn ends with an error."""

    max_turns: int | None = None
    max_budget_usd: float | None = None


class ConversationOptions(msgspec.Struct, frozen=True):
    """The options of a conversation, from the command line."""

    is_stream: bool
    """Whether messages come over standard input."""
    shows_frames: bool = False
    """Whether the server-sent events of answers are printed."""
    replays: bool = False
    """Whether user messages are echoed."""
    limits: Limits = msgspec.field(default_factory=Limits)
    effort: str | None = None
    thinking_display: str | None = None
    task_budget: int | None = None
    fallbacks: tuple[Model, ...] = ()


class ModelSetup(msgspec.Struct):
    """The model and its permissions; control requests and skills change them between requests."""

    model: Model
    policy: Policy
    shell_folder: Callable[[], str]
    """Returns the working folder of the shell."""
    thinking_tokens: int | None = None

    def current_policy(self) -> Policy:
        """Return the policy for a call that runs now."""
        return with_shell_folder(self.policy, self.shell_folder())


@contextmanager
def allowed(setup: ModelSetup, rules: tuple[Rule, ...]) -> Iterator[None]:
    """Allow more as long as the block lasts; other changes of the policy stay."""
    setup.policy = msgspec.structs.replace(setup.policy, allow=(*setup.policy.allow, *rules))
    try:
        yield
    finally:
        kept = tuple(rule for rule in setup.policy.allow if not any(rule is added for added in rules))
        setup.policy = msgspec.structs.replace(setup.policy, allow=kept)


@contextmanager
def with_model(setup: ModelSetup, model: Model | None) -> Iterator[None]:
    """Use another model as long as the block lasts, if there is one; a model that the host sets during it stays."""
    before, setup.model = setup.model, model or setup.model
    try:
        yield
    finally:
        if setup.model is model:
            setup.model = before


class RequestHead(msgspec.Struct, frozen=True):
    """The parts of every request that do not change during a conversation."""

    system: list[Block]
    reminder: list[Block]
    """The blocks before the first user message."""
    instructions: tuple[Instructions, ...] = ()
    """The files whose text the reminder holds."""


class PromptSource(msgspec.Struct, frozen=True):
    """Where a conversation gets its prompt: read when the first request needs it."""

    head: Callable[[], Awaitable[RequestHead]]
    listings: tuple[Callable[[], str | None], ...] = ()
    """Return what the model must know of MCP servers, agents and skills; one message has them all."""
    before_request: Callable[[], Awaitable[None]] | None = None
    """Waits for tools that MCP servers have announced."""
