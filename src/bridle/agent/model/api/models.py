"""Which model a name means, and how each model is asked. The one table of names and sizes.

Measured with Claude Code 2.1.197. A name that is not in the table goes to the endpoint as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

WIDE = "[1m]"
"""The end of a name that asks for the large context window."""
WIDE_WINDOW = 1_000_000
WINDOW = 200_000

BETA_WIDE = "context-1m-2025-08-07"
BETA_INTERLEAVED = "interleaved-thinking-2025-05-14"
BETA_SYSTEM_MESSAGES = "mid-conversation-system-2026-04-07"
BETA_EFFORT = "effort-2025-11-24"

EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Thinking(Enum):
    """How a model is told to think."""

    ADAPTIVE = "adaptive"
    """It decides itself; a number of tokens only turns it off (0)."""
    BUDGET = "budget"
    """It gets a number of tokens."""
    NONE = "none"
    """It cannot."""


class ModelKind(Struct, frozen=True):
    """What is known about the models whose names begin alike."""

    max_output_tokens: int
    """What is asked for unless the environment says otherwise."""
    output_ceiling: int
    """The most that the endpoint takes."""
    thinking: Thinking
    effort: str | None
    """What is sent when nobody chose; None: the model takes no effort."""
    top_efforts: tuple[str, ...] = ()
    """Which of the efforts above `high` it takes; another is sent as `high`."""
    takes_system_messages: bool = False
    """Whether a message inside the conversation may have the role `system`."""


class Model(Struct, frozen=True):
    """One model, as it is sent and shown."""

    id: str
    """What the request names."""
    shown: str
    """What `init` and `modelUsage` name: the id, with `[1m]` when the window is wide."""
    betas: tuple[str, ...]
    context_window: int
    max_output_tokens: int
    """What `modelUsage` shows."""
    max_tokens: int
    """What the request asks for: the environment may have lowered or raised it."""
    kind: ModelKind

    @property
    def thinking(self) -> Thinking:
        """How it is told to think."""
        return self.kind.thinking

    @property
    def takes_system_messages(self) -> bool:
        """Whether a message inside the conversation may have the role `system`."""
        return self.kind.takes_system_messages


class Alias(Struct, frozen=True):
    """A short name, and the variables that say what it means instead of the table."""

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
SMALL = Alias(_HAIKU.id, ("ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"))
"""What small side tasks are given to."""

_ABOVE_HIGH = ("xhigh", "max")
_NEW = ModelKind(64_000, 128_000, Thinking.ADAPTIVE, "high", _ABOVE_HIGH, takes_system_messages=True)
_CLASSIC = ModelKind(32_000, 64_000, Thinking.BUDGET, None)
_OLD = ModelKind(8_192, 8_192, Thinking.NONE, None)

# The longest beginning that fits counts.
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
"""How a model that is not in the table is asked."""


def resolve_model(name: str | None, environment: Mapping[str, str], *, setting: str | None = None) -> Model:
    """Find the model that a name means; without one, the environment's, then the settings', then the default."""
    asked = name or environment.get("ANTHROPIC_MODEL") or setting or "default"
    asked = asked.strip()
    wide = asked.lower().endswith(WIDE)
    bare = asked[: -len(WIDE)] if wide else asked
    alias = ALIASES.get(bare.lower())
    if alias is None:
        return _model(bare, environment, wide=wide)
    return _model(_id(alias, environment), environment, wide=wide or alias.wide)


def small_model(environment: Mapping[str, str]) -> Model:
    """The model for small side tasks."""
    return _model(_id(SMALL, environment), environment, wide=False)


def display_name(name: str) -> str:
    """A model's id for people: `claude-opus-4-8` is Opus 4.8; an id that is not of this form stays as it is."""
    family, *rest = name.removeprefix("claude-").split("-")
    numbers = [part for part in rest if part.isdigit() and len(part) < 3]  # a date is no part of the version
    if not name.startswith("claude-") or not family.isalpha() or not numbers:
        return name
    return f"{family.capitalize()} {'.'.join(numbers)}"


def effort_for(model: Model, asked: str | None, environment: Mapping[str, str]) -> str | None:
    """What the request says about effort; None if this model is told nothing."""
    if model.kind.effort is None:
        return None
    wish = asked or environment.get("CLAUDE_CODE_EFFORT_LEVEL") or ""
    if wish not in EFFORTS:
        return model.kind.effort
    return wish if wish not in _ABOVE_HIGH or wish in model.kind.top_efforts else "high"


def thinking_for(model: Model, tokens: int | None, environment: Mapping[str, str]) -> dict[str, object] | None:
    """The request's `thinking`; None if this model is told nothing.

    Of the number in `MAX_THINKING_TOKENS` the beginning counts, and no number at all turns thinking off.
    """
    if model.thinking is Thinking.NONE:
        return None
    if tokens is None:
        tokens = _tokens(environment.get("MAX_THINKING_TOKENS"))
    if tokens is not None and tokens <= 0:
        return {"type": "disabled"}
    if model.thinking is Thinking.ADAPTIVE:
        return {"type": "adaptive"}
    most = model.max_tokens - 1
    return {"type": "enabled", "budget_tokens": most if tokens is None else min(tokens, most)}


def _id(alias: Alias, environment: Mapping[str, str]) -> str:
    return next((environment[name] for name in alias.variables if environment.get(name)), alias.id)


def _may_be_wide(environment: Mapping[str, str]) -> bool:
    return environment.get("CLAUDE_CODE_DISABLE_1M_CONTEXT", "").lower() not in ("1", "true", "yes", "on")


def _model(meant: str, environment: Mapping[str, str], *, wide: bool) -> Model:
    """The model of an id; a variable may have named one with the wide window."""
    name = meant.removesuffix(WIDE)
    wide = (wide or name != meant) and _may_be_wide(environment)
    kind = _kind(name)
    return Model(
        id=name,
        shown=name + WIDE if wide else name,
        betas=tuple(_betas(kind, wide=wide)),
        context_window=WIDE_WINDOW if wide else WINDOW,
        max_output_tokens=kind.max_output_tokens,
        max_tokens=_max_tokens(kind, environment),
        kind=kind,
    )


def _kind(name: str) -> ModelKind:
    # The clouds put a region, a vendor and a version around the same name.
    start = name.find("claude-")
    bare = name[start:] if start > 0 else name
    fitting = [prefix for prefix in KINDS if bare.startswith(prefix)]
    return KINDS[max(fitting, key=len)] if fitting else UNKNOWN


def _betas(kind: ModelKind, *, wide: bool) -> list[str]:
    return [
        *([BETA_WIDE] if wide else []),
        *([BETA_INTERLEAVED] if kind.thinking is not Thinking.NONE else []),
        *([BETA_SYSTEM_MESSAGES] if kind.takes_system_messages else []),
        *([BETA_EFFORT] if kind.effort else []),
    ]


def _max_tokens(kind: ModelKind, environment: Mapping[str, str]) -> int:
    wish = _whole_number(environment.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS", ""))
    return min(wish, kind.output_ceiling) if wish else kind.max_output_tokens


def _tokens(text: str | None) -> int | None:
    """The number that a text begins with; 0 if it begins with none."""
    return None if not text or not text.strip() else _whole_number(text) or 0


def _whole_number(text: str) -> int | None:
    """The digits at the beginning; None if there are none."""
    stripped = text.strip()
    digits = stripped[: len(stripped) - len(stripped.lstrip("0123456789"))]
    return int(digits) if digits else None
