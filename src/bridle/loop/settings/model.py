"""The settings of the loop: one table of keys with defaults and help. Pure; `bridle_toml` reads files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from bridle.ground.descendants.proc_files import PROCESS_LIMIT
from bridle.loop.settings import limits
from bridle.loop.settings.limits import Limits
from bridle.loop.settings.value_kinds import (
    AGE,
    DURATION,
    FLAG,
    MONEY,
    PATTERNS,
    TEXT,
    TEXTS,
    Key,
    choice,
    count,
    differs,
    is_above,
    names,
    setting,
)
from bridle.run.isolation.sandbox_rules import AUTO, MODES, NETWORK_NONE, NETWORK_OPEN, SandboxRules
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
    """The settings of a run, from all files and flags. Times are in seconds, costs in USD."""

    agents: tuple[str, ...] = setting(
        names(AGENTS),
        "The agents to use. When one reaches its usage limit, the next one takes over.",
        default=("claude",),
        name="agent",
    )
    model: str = setting(TEXT, "The model: an alias (sonnet, opus, haiku) or a full name.", default="sonnet")
    reasoning: str = setting(choice(*Reasoning), "How much thinking the model is allowed.", default="med")
    permission: str = setting(
        choice(*Permission),
        "What an agent may do without asking. `bypass` allows everything; only your own file may set it.",
        default="default",
        not_in_repository=(Permission.BYPASS,),
        needs_trust=differs,
    )
    auth: str = setting(
        choice(*Auth),
        "Which account pays. `key` is the API key in the environment; only your own file may set it.",
        default="auto",
        not_in_repository=(Auth.KEY,),
    )
    max_cost_usd: float = setting(
        MONEY,
        "The most that the run may cost, in USD. It ends before an iteration that would exceed this.",
        default=limits.COST_USD,
        name="max_cost",
        needs_trust=is_above,
    )
    max_iterations: int = setting(
        count(1), "The most iterations of the run.", default=limits.ITERATIONS, needs_trust=is_above
    )
    max_seconds: float = setting(
        DURATION, "The longest that the run may take.", default=limits.SECONDS, name="max_time", needs_trust=is_above
    )
    tries: int = setting(
        count(1), "Unsuccessful iterations after which a task has failed.", default=limits.TRIES, needs_trust=is_above
    )
    parallel: int = setting(
        count(1),
        "Tasks that run at once, each in a worktree. Finished tasks are merged one at a time, after their checks.",
        default=1,
    )
    worktree: bool = setting(
        FLAG, "Work in a worktree and leave your working copy as it is. `setup` runs there first.", default=False
    )
    checks: tuple[str, ...] = setting(
        TEXTS,
        "Commands that must pass for every task of a goal or a prd.json. A Markdown plan has its own `Checks:`.",
        default=(),
    )
    setup: tuple[str, ...] = setting(
        TEXTS, "Commands that prepare a fresh checkout, unless the plan has `Setup:`.", default=()
    )
    git_hooks: str = setting(
        choice("run", "skip"),
        "Git's own hooks `pre-commit` and `commit-msg`: run as one more check before a commit, or not at all.",
        default="run",
    )
    clean: str = setting(
        choice("working", "checkout"),
        "Where checks run: in the working copy, which is proven equal to the commit, or in a fresh checkout.",
        default="working",
    )
    # Fifteen minutes is long for a test suite; what takes longer usually hangs.
    check_seconds: float = setting(
        DURATION, "The longest that one check may take.", default=15 * 60.0, name="check_timeout"
    )
    # Enough to install all dependencies over a slow network.
    setup_seconds: float = setting(
        DURATION, "The longest that one setup command may take.", default=30 * 60.0, name="setup_timeout"
    )
    baseline: bool = setting(FLAG, "Run every check once before the first agent.", default=True)
    red_first: bool = setting(FLAG, "Fail a task whose own check passes before any work.", default=False)
    protect: tuple[str, ...] = setting(
        PATTERNS, "More files that no task may change, unless its `May edit:` names them.", default=()
    )
    breakpoints: str = setting(
        choice("ask", "approve", "reject"),
        "How breakpoints are answered: ask you, approve all or reject all.",
        default="ask",
        needs_trust=differs,
    )
    stuck_after: int = setting(
        count(2), "A task fails after this many identical failures without a new change.", default=3
    )
    allow_dirty: bool = setting(
        FLAG,
        "Start although there are uncommitted changes. They are put aside while the run works, and restored.",
        default=False,
    )
    commit: bool = setting(
        FLAG,
        "Commit for you. Without it the run ends on your own branch, with its work in the files, not committed.",
        default=True,
    )
    tick: bool = setting(FLAG, "Tick the boxes of verified tasks in the plan's file.", default=False)
    summarize_every: int = setting(count(1), "Iterations after which old progress is summarized.", default=10)
    summarize_model: str = setting(TEXT, "The model that summarizes progress.", default="haiku")
    notify: tuple[str, ...] = setting(
        TEXTS, "Where to send a notification at the end: URLs of the apprise library.", default=(), needs_trust=differs
    )
    agent_seconds: float = setting(
        DURATION, "The longest that one agent process may run.", default=RUN_SECONDS, name="agent_timeout"
    )
    idle_seconds: float = setting(
        DURATION,
        "How long an agent may print nothing while no tool is running.",
        default=IDLE_SECONDS,
        name="idle_timeout",
    )
    tool_idle_seconds: float = setting(
        DURATION,
        "How long an agent may print nothing while a tool is running.",
        default=TOOL_IDLE_SECONDS,
        name="tool_idle_timeout",
    )
    after_result_seconds: float = setting(
        DURATION,
        "How long an agent may keep running after its result.",
        default=AFTER_RESULT_SECONDS,
        name="after_result",
    )
    prompt_task: int = setting(count(100), "Characters of the task's text in a prompt.", default=20_000)
    prompt_agents: int = setting(count(0), "Characters of AGENTS.md in a prompt.", default=12_000)
    prompt_plan: int = setting(count(0), "Characters of the plan's text in a prompt.", default=12_000)
    prompt_progress: int = setting(count(0), "Characters of progress and learned patterns in a prompt.", default=12_000)
    prompt_failure: int = setting(count(0), "Characters of the last failure's output in a prompt.", default=16_000)
    prompt_hint: int = setting(
        count(0), "Characters of hints, of an answer and of earlier answers in a prompt.", default=4_000
    )
    keep_seconds: float = setting(
        AGE,
        "How long logs and runs are kept before `bridle clean` offers to remove them.",
        default=30 * 86400.0,
        name="keep",
    )
    sandbox_mode: str = setting(
        choice(*MODES),
        "The sandbox of agents and checks. `auto` uses that of this machine if it works; one that is named must work.",
        default=AUTO,
        name="sandbox.mode",
        is_personal=True,
    )
    sandbox_writable: tuple[str, ...] = setting(
        TEXTS,
        "More files and folders that agents and checks may change in the sandbox. `~` is your home folder.",
        default=(),
        name="sandbox.writable",
        is_personal=True,
    )
    sandbox_hidden: tuple[str, ...] = setting(
        TEXTS, "More files and folders that they cannot read.", default=(), name="sandbox.hidden", is_personal=True
    )
    sandbox_visible: tuple[str, ...] = setting(
        TEXTS,
        "More files and folders of your home that they can read, though their names begin with a dot.",
        default=(),
        name="sandbox.visible",
        is_personal=True,
    )
    sandbox_network: str = setting(
        choice(NETWORK_OPEN, NETWORK_NONE),
        "The network of checks. Setup commands and agents always have it.",
        default=NETWORK_OPEN,
        name="sandbox.network",
        is_personal=True,
    )
    sandbox_environment: tuple[str, ...] = setting(
        TEXTS,
        "More variables that agents and checks get in the sandbox; a final `*` matches any ending.",
        default=(),
        name="sandbox.environment",
        is_personal=True,
    )
    sandbox_max_processes: int = setting(
        count(0),
        "The most processes that an agent or a check may have at the same time, also without a sandbox; 0: no limit.",
        default=PROCESS_LIMIT,
        name="sandbox.max_processes",
        is_personal=True,
    )
    chosen: tuple[str, ...] = ()
    """The keys that a file or flag set; all others have their defaults."""
    template: str = ""
    """The text of the prompt's template; empty: the prompt has its usual form."""
    ignored: str = ""
    """Which settings of the repository count only after the user has agreed; not recorded."""

    @property
    def uses_worktrees(self) -> bool:
        """Whether the run uses worktrees and leaves the user's working copy alone."""
        return self.worktree or self.parallel > 1

    @property
    def sandbox(self) -> SandboxRules:
        """The rules for sandboxes."""
        return SandboxRules(
            self.sandbox_mode,
            self.sandbox_writable,
            self.sandbox_hidden,
            self.sandbox_network,
            self.sandbox_environment,
            self.sandbox_visible,
            self.sandbox_max_processes,
        )

    @property
    def limits(self) -> Limits:
        return Limits(**{name: getattr(self, name) for name in _LIMITS})

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the journal, with the limits under `limits`."""
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {
            **{name: listed[name] for name in listed if name not in (*_LIMITS, "ignored")},
            "limits": self.limits.as_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Settings:
        """Decode what `as_json` returned. Unknown keys are ignored, missing ones get their defaults."""
        flat = {**value, **value["limits"]}
        known = {field.name for field in fields(cls)} & flat.keys()
        values: dict[str, Any] = {name: tuple(v) if isinstance(v := flat[name], list) else v for name in known}
        return cls(**values)


_LIMITS = Limits.__struct_fields__

KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            field.metadata["name"] or field.name,
            field.name,
            field.metadata["kind"],
            field.default,
            field.metadata["help"],
            field.metadata["not_in_repository"],
            field.metadata["needs_trust"],
            field.metadata["is_personal"],
        )
        for field in fields(Settings)
        if field.metadata
    )
}
