"""Resolves model names, and lists the parameters of each model. The only table of names and sizes.

Measured with Claude Code 2.1.197. A name that is not in the table is sent to the endpoint unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

WIDE = "[1m]"
"""The suffix of a name that requests the large context window."""
WIDE_WINDOW = 1_000_000
WINDOW = 200_000

BETA_WIDE = "context-1m-2025-08-07"
BETA_INTERLEAVED = "interleaved-thinking-2025-05-14"
BETA_SYSTEM_MESSAGES = "mid-conversation-system-2026-04-07"
BETA_EFFORT = "effort-2025-11-24"
BETA_TASK_BUDGET = "task-budgets-2026-03-13"

OWN_BETAS = "BRIDLE_BETAS"
"""The variable with the betas of the command line, separated by commas."""

ENDPOINT = "BRIDLE_ENDPOINT"
"""The variable that names the kind of endpoint: CHAT or MESSAGES."""
CHAT, MESSAGES = "chat", "messages"
CHAT_WINDOW = 128_000
"""The context window of a model of a chat endpoint, which mostly does not tell it; BRIDLE_CONTEXT_TOKENS does."""
DEFAULT_CHAT_MODEL = "default"
"""The name for the only model of a chat endpoint."""

EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Thinking(Enum):
    """How thinking is configured for a model."""

    ADAPTIVE = "adaptive"
    """The model decides; a number of tokens only turns it off (0)."""
    BUDGET = "budget"
    """The model gets a token budget."""
    NONE = "none"
    """The model cannot think."""


class ModelKind(Struct, frozen=True):
    """The parameters of the models whose names share a prefix."""

    max_output_tokens: int
    """The default of `max_tokens`."""
    output_ceiling: int
    """The maximum that the endpoint accepts."""
    thinking: Thinking
    effort: str | None
    """The default effort; None if the model does not support it."""
    top_efforts: tuple[str, ...] = ()
    """The supported efforts above `high`; others are sent as `high`."""
    takes_system_messages: bool = False
    """Whether a message inside the conversation may have the role `system`."""
    has_stand_in_price: bool = True
    """Whether an unknown price is replaced by that of another model."""


class Model(Struct, frozen=True):
    """A model, as it is sent and shown."""

    id: str
    """The `model` of the request."""
    shown: str
    """The name in `init` and `modelUsage`: the id, with `[1m]` for the large window."""
    betas: tuple[str, ...]
    context_window: int
    max_output_tokens: int
    """As shown in `modelUsage`."""
    max_tokens: int
    """As requested; the environment may lower or raise it."""
    kind: ModelKind
    alias: str = ""
    """The short name that selected it."""

    @property
    def thinking(self) -> Thinking:
        """How thinking is configured."""
        return self.kind.thinking

    @property
    def takes_system_messages(self) -> bool:
        """Whether a message inside the conversation may have the role `system`."""
        return self.kind.takes_system_messages


class Alias(Struct, frozen=True):
    """The model of a short name, and the variables that override it."""

    id: str
    variables: tuple[str, ...]
    wide: bool = False


_HAIKU = Alias("claude-haiku-4-5-20251001", ("ANTHROPIC_DEFAULT_HAIKU_MODEL",))
_SONNET = Alias("claude-sonnet-5", ("ANTHROPIC_DEFAULT_SONNET_MODEL",))
_OPUS = Alias("claude-opus-4-8", ("ANTHROPIC_DEFAULT_OPUS_MODEL",))

ALIASES: dict[str, Alias] = {
    "haiku": _HAIKU,
    "sonnet": _SONNET,
    "opus": _OPUS,
    "best": _OPUS,
    "fable": Alias("claude-fable-5", ("ANTHROPIC_DEFAULT_FABLE_MODEL",)),
    "opusplan": _SONNET,
    "default": replace(_OPUS, wide=True),
}
PLANNERS = {"haiku": "sonnet", "opusplan": "default"}
"""By short name: the model that plans."""
SMALL = Alias(_HAIKU.id, ("ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"))
"""The model for small side tasks."""

_ABOVE_HIGH = ("xhigh", "max")
_NEW = ModelKind(64_000, 128_000, Thinking.ADAPTIVE, "high", _ABOVE_HIGH, takes_system_messages=True)
_CLASSIC = ModelKind(32_000, 64_000, Thinking.BUDGET, None)
_OLD = ModelKind(8_192, 8_192, Thinking.NONE, None)

# By prefix; the longest match wins.
KINDS: dict[str, ModelKind] = {
    "claude-opus-4-8": _NEW,
    "claude-sonnet-5": _NEW,
    "claude-fable-5": _NEW,
    "claude-opus-4-7": replace(_NEW, effort="xhigh", takes_system_messages=False),
    "claude-opus-4-6": replace(_NEW, top_efforts=("max",), takes_system_messages=False),
    "claude-sonnet-4-6": ModelKind(32_000, 128_000, Thinking.ADAPTIVE, "high", ("max",)),
    "claude-opus-4-5": replace(_CLASSIC, effort="high"),
    "claude-opus-4": replace(_CLASSIC, output_ceiling=32_000),
    "claude-sonnet-4": _CLASSIC,
    "claude-haiku-4": _CLASSIC,
    "claude-3-7-sonnet": replace(_CLASSIC, thinking=Thinking.NONE),
    "claude-3": _OLD,
}
UNKNOWN = ModelKind(32_000, 128_000, Thinking.ADAPTIVE, "high", _ABOVE_HIGH, takes_system_messages=True)
"""The parameters of a model that is not in the table."""
CHAT_KIND = ModelKind(32_000, 1_000_000, Thinking.NONE, None, has_stand_in_price=False)
"""The parameters of a model of a chat endpoint."""


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Return whether a variable is set to a word for yes."""
    return environment.get(name, "").lower() in ("1", "true", "yes", "on")


def resolve_model(name: str | None, environment: Mapping[str, str], *, setting: str | None = None) -> Model:
    """Resolve a name; without one use the environment's, then the settings', then the default model."""
    if environment.get(ENDPOINT) == CHAT:
        return _chat_model(name, environment, setting)
    requested = name or environment.get("ANTHROPIC_MODEL") or setting or "default"
    requested = requested.strip()
    wide = requested.lower().endswith(WIDE)
    bare = requested[: -len(WIDE)] if wide else requested
    alias = ALIASES.get(bare.lower())
    if alias is None:
        return _model(bare, environment, wide=wide)
    model = _model(_id(alias, environment), environment, wide=wide or alias.wide)
    return replace(model, alias=bare.lower())


def plan_model(model: Model, environment: Mapping[str, str]) -> Model:
    """Return the model for plan mode: `haiku` plans with Sonnet, `opusplan` with Opus."""
    planner = PLANNERS.get(model.alias)
    return model if planner is None else resolve_model(planner, environment)


def small_model(environment: Mapping[str, str]) -> Model:
    """Return the model for small side tasks."""
    if environment.get(ENDPOINT) == CHAT:
        return _chat_model("haiku", environment, None)
    return _model(_id(SMALL, environment), environment, wide=False)


def has_web_search(environment: Mapping[str, str]) -> bool:
    """Return whether the endpoint searches the web: a Messages API other than that of Bedrock."""
    return environment.get(ENDPOINT) != CHAT and not is_on(environment, "CLAUDE_CODE_USE_BEDROCK")


def display_name(name: str) -> str:
    """Return the display name of a model id: Opus 4.8 for `claude-opus-4-8`; other forms are unchanged."""
    family, *rest = name.removeprefix("claude-").split("-")
    numbers = [part for part in rest if part.isdigit() and len(part) < 3]  # a date is not part of the version
    if not name.startswith("claude-") or not family.isalpha() or not numbers:
        return name
    return f"{family.capitalize()} {'.'.join(numbers)}"


def effort_for(model: Model, requested: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the effort of the request; None if it has none for this model."""
    if model.kind.effort is None:
        return None
    effort = requested or environment.get("CLAUDE_CODE_EFFORT_LEVEL") or ""
    if effort not in EFFORTS:
        return model.kind.effort
    return effort if effort not in _ABOVE_HIGH or effort in model.kind.top_efforts else "high"


def thinking_for(model: Model, tokens: int | None, environment: Mapping[str, str]) -> dict[str, object] | None:
    """Return the `thinking` of the request; None if it has none for this model.

    Leading digits of `MAX_THINKING_TOKENS` count; a value without digits turns thinking off.
    """
    if model.thinking is Thinking.NONE:
        return None
    if tokens is None:
        tokens = _tokens(environment.get("MAX_THINKING_TOKENS"))
    if tokens is not None and tokens <= 0:
        return {"type": "disabled"}
    if model.thinking is Thinking.ADAPTIVE:
        return {"type": "adaptive"}
    limit = model.max_tokens - 1
    return {"type": "enabled", "budget_tokens": limit if tokens is None else min(tokens, limit)}


def requested_max_tokens(environment: Mapping[str, str]) -> int | None:
    """Return the limit of an answer that the user sets, or None."""
    return _leading_number(environment.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS", ""))


def _chat_model(name: str | None, environment: Mapping[str, str], setting: str | None) -> Model:
    """Return the model of a chat endpoint: a short name means what a variable says, else the default."""
    own = environment.get("OPENAI_MODEL") or environment.get("ANTHROPIC_MODEL") or setting or DEFAULT_CHAT_MODEL
    found = next((known for text in (name, own) if text and (known := _chat_name(text, environment))), None)
    found = found or DEFAULT_CHAT_MODEL
    window = _leading_number(environment.get("BRIDLE_CONTEXT_TOKENS", "")) or CHAT_WINDOW
    return Model(found, found, (), window, CHAT_KIND.max_output_tokens, _max_tokens(CHAT_KIND, environment), CHAT_KIND)


def _chat_name(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the name to send; None for a short name without a variable."""
    alias = ALIASES.get(name.strip().removesuffix(WIDE).lower())
    if alias is None:
        return name.strip()
    return next((environment[variable] for variable in alias.variables if environment.get(variable)), None)


def _id(alias: Alias, environment: Mapping[str, str]) -> str:
    return next((environment[name] for name in alias.variables if environment.get(name)), alias.id)


def _model(name: str, environment: Mapping[str, str], *, wide: bool) -> Model:
    """Return the model of an id, which may have the suffix for the large window."""
    bare = name.removesuffix(WIDE)
    wide = (wide or bare != name) and not is_on(environment, "CLAUDE_CODE_DISABLE_1M_CONTEXT")
    kind = _kind(bare)
    # The flag makes the window of every model large that can have one; its name stays as it is.
    is_large = wide or (BETA_WIDE in environment.get(OWN_BETAS, "").split(",") and kind.thinking is Thinking.ADAPTIVE)
    return Model(
        id=bare,
        shown=bare + WIDE if wide else bare,
        betas=tuple(_betas(kind, wide=is_large)),
        context_window=WIDE_WINDOW if is_large else WINDOW,
        max_output_tokens=kind.max_output_tokens,
        max_tokens=_max_tokens(kind, environment),
        kind=kind,
    )


def _kind(name: str) -> ModelKind:
    # The clouds add a region, a vendor and a version to the name.
    start = name.find("claude-")
    bare = name[start:] if start > 0 else name
    prefixes = [prefix for prefix in KINDS if bare.startswith(prefix)]
    return KINDS[max(prefixes, key=len)] if prefixes else UNKNOWN


def _betas(kind: ModelKind, *, wide: bool) -> list[str]:
    return [
        *([BETA_WIDE] if wide else []),
        *([BETA_INTERLEAVED] if kind.thinking is not Thinking.NONE else []),
        *([BETA_SYSTEM_MESSAGES] if kind.takes_system_messages else []),
        *([BETA_EFFORT] if kind.effort else []),
    ]


def _max_tokens(kind: ModelKind, environment: Mapping[str, str]) -> int:
    limit = requested_max_tokens(environment)
    return min(limit, kind.output_ceiling) if limit else kind.max_output_tokens


def _tokens(text: str | None) -> int | None:
    """Return the leading number of a text; 0 without one, None for an empty text."""
    return None if not text or not text.strip() else _leading_number(text) or 0


def _leading_number(text: str) -> int | None:
    """Return the number of the leading digits, or None."""
    stripped = text.strip()
    digits = stripped[: len(stripped) - len(stripped.lstrip("0123456789"))]
    return int(digits) if digits else None
