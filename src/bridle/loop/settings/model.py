"""The settings of the loop: the one table of keys, with defaults and words. Pure; `bridle_toml` reads files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from bridle.loop.settings import limits
from bridle.loop.settings.limits import Limits
from bridle.loop.settings.value_kinds import (
    DURATION,
    FLAG,
    MONEY,
    PATTERNS,
    TEXT,
    TEXTS,
    Key,
    choice,
    count,
    names,
    setting,
)
from bridle.run.request import (
    AFTER_RESULT_SECONDS,
    IDLE_SECONDS,
    RUN_SECONDS,
    TOOL_IDLE_SECONDS,
    Auth,
    Permission,
    Reasoning,
)

AGENTS = ("claude", "bridle-agent", "codex", "gemini", "opencode")


@dataclass(frozen=True, slots=True)
class Settings:
    """What all files and flags together say. Times are in seconds, costs in USD."""

    agents: tuple[str, ...] = setting(
        names(AGENTS),
        "The agents to work with; at a usage limit the next one takes over.",
        default=("claude",),
        name="agent",
    )
    model: str = setting(TEXT, "The model: an alias (sonnet, opus, haiku) or a full name.", default="sonnet")
    reasoning: str = setting(choice(*Reasoning), "How much thinking the model is allowed.", default="med")
    permission: str = setting(
        choice(*Permission),
        "What an agent may do beyond its tools without being asked; `bypass` is everything, and only a flag or"
        " your own file may say it.",
        default="default",
        not_in_repository=(Permission.BYPASS,),
    )
    auth: str = setting(
        choice(*Auth),
        "Whose account pays; `key`, the API key in the environment, only by a flag or your own file.",
        default="auto",
        not_in_repository=(Auth.KEY,),
    )
    max_cost_usd: float = setting(
        MONEY,
        "USD for the whole run, which ends before the iteration that would cost more.",
        default=limits.COST_USD,
        name="max_cost",
    )
    max_iterations: int = setting(count(1), "Iterations for the whole run.", default=limits.ITERATIONS)
    max_seconds: float = setting(DURATION, "Time for the whole run.", default=limits.SECONDS, name="max_time")
    tries: int = setting(
        count(1), "Iterations that may leave a task not done, before it has failed.", default=limits.TRIES
    )
    parallel: int = setting(
        count(1),
        "Tasks that are worked on at once, each in a worktree; what is done is merged in turn, through the checks.",
        default=1,
    )
    worktree: bool = setting(
        FLAG, "Work in a worktree after the setup, and leave the working copy as it is.", default=False
    )
    checks: tuple[str, ...] = setting(
        TEXTS,
        "Commands that must pass for every task of a goal or of a prd.json; a plan has its own `Checks:`.",
        default=(),
    )
    setup: tuple[str, ...] = setting(
        TEXTS, "Commands that prepare a fresh checkout, where the plan has no `Setup:`.", default=()
    )
    clean: str = setting(
        choice("working", "checkout"),
        "Where checks run: in the working copy, proven equal to the commit, or in a fresh checkout.",
        default="working",
    )
    # A suite of a quarter of an hour is a long one; what takes longer hangs more often than it works.
    check_seconds: float = setting(DURATION, "Time for one check.", default=15 * 60.0, name="check_timeout")
    # Installing everything anew over a slow line.
    setup_seconds: float = setting(
        DURATION, "Time for one command of the setup.", default=30 * 60.0, name="setup_timeout"
    )
    red_first: bool = setting(
        FLAG, "A task whose own check passes before any work is a fault of the plan.", default=False
    )
    protect: tuple[str, ...] = setting(
        PATTERNS, "More files that no task may change unless `May edit:` names them.", default=()
    )
    breakpoints: str = setting(
        choice("ask", "approve", "reject"),
        "What becomes of a breakpoint: a person is asked, or this policy answers.",
        default="ask",
    )
    stuck_after: int = setting(count(2), "So many times the same failure without a new change end a task.", default=3)
    allow_dirty: bool = setting(FLAG, "Start with uncommitted changes; a snapshot is taken first.", default=False)
    tick: bool = setting(FLAG, "Tick the boxes of verified tasks in the plan's file.", default=False)
    summarize_every: int = setting(
        count(1), "Iterations after which old progress is folded into a summary.", default=10
    )
    summarize_model: str = setting(TEXT, "The model that folds it.", default="haiku")
    notify: tuple[str, ...] = setting(
        TEXTS, "Where to send word at the end: addresses as the library apprise takes them.", default=()
    )
    agent_seconds: float = setting(DURATION, "Time for one run of an agent.", default=RUN_SECONDS, name="agent_timeout")
    idle_seconds: float = setting(
        DURATION,
        "How long an agent may print nothing while no tool is at work.",
        default=IDLE_SECONDS,
        name="idle_timeout",
    )
    tool_idle_seconds: float = setting(
        DURATION,
        "How long an agent may print nothing while a tool is at work.",
        default=TOOL_IDLE_SECONDS,
        name="tool_idle_timeout",
    )
    after_result_seconds: float = setting(
        DURATION, "How long an agent may stay after its result.", default=AFTER_RESULT_SECONDS, name="after_result"
    )
    prompt_task: int = setting(count(100), "Characters of the task's own words in a prompt.", default=20_000)
    prompt_agents: int = setting(count(0), "Characters of AGENTS.md in a prompt.", default=12_000)
    prompt_plan: int = setting(count(0), "Characters of the plan's text in a prompt.", default=12_000)
    prompt_progress: int = setting(count(0), "Characters of progress and learned patterns in a prompt.", default=12_000)
    prompt_failure: int = setting(count(0), "Characters of the last failure's output in a prompt.", default=16_000)
    prompt_hint: int = setting(count(0), "Characters of a person's hint in a prompt.", default=4_000)
    keep_seconds: float = setting(
        DURATION,
        "How old logs and runs become before `bridle clean` offers to remove them.",
        default=30 * 86400.0,
        name="keep",
    )
    chosen: tuple[str, ...] = ()
    """The keys that somebody set; all others have their defaults."""

    @property
    def works_apart(self) -> bool:
        """Whether the run works in worktrees, and leaves the person's working copy alone."""
        return self.worktree or self.parallel > 1

    @property
    def limits(self) -> Limits:
        """The bounds of the run."""
        return Limits(**{name: getattr(self, name) for name in _LIMITS})

    def as_json(self) -> dict[str, Any]:
        """For the journal; the bounds stand together under `limits`."""
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {**{name: listed[name] for name in listed if name not in _LIMITS}, "limits": self.limits.as_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Settings:
        """What `as_json` gave; a key that another version did not know has its default."""
        flat = {**value, **value["limits"]}
        known = {one.name for one in fields(cls)} & flat.keys()
        values: dict[str, Any] = {name: tuple(v) if isinstance(v := flat[name], list) else v for name in known}
        return cls(**values)


_LIMITS = tuple(one.name for one in fields(Limits))

KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            one.metadata["name"] or one.name,
            one.name,
            one.metadata["kind"],
            one.default,
            one.metadata["help"],
            one.metadata["not_in_repository"],
        )
        for one in fields(Settings)
        if one.metadata
    )
}
