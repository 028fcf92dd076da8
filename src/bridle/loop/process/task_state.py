"""What is known of each task of a run: folded from the results of effects, in the order in which they came. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PENDING = "pending"
DONE = "done"
GUARD_ONLY = "done (guard only)"
SATISFIED = "already satisfied"
UNVERIFIED = "unverified"
FAILED = "failed"
STUCK = "stuck"
NEEDS_YOU = "needs you"
BLOCKED = "blocked"

# What satisfies a `Needs:` of another task.
GOOD = frozenset({DONE, GUARD_ONLY, SATISFIED, UNVERIFIED})
# What only a person, or `retry`, changes again.
ENDED = GOOD | {FAILED, STUCK, BLOCKED}


@dataclass
class Usage:
    """What work used."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def add(self, value: Mapping[str, Any]) -> None:
        """Count one effect's value."""
        self.cost_usd += _number(value.get("cost_usd"))
        self.input_tokens += int(_number(value.get("input_tokens")))
        self.output_tokens += int(_number(value.get("output_tokens")))
        self.seconds += _number(value.get("seconds"))

    def join(self, other: Usage) -> None:
        """Count what somebody else used."""
        self.cost_usd += other.cost_usd
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.seconds += other.seconds


@dataclass
class TaskState:
    """One task of the plan, as it stands."""

    title: str
    needs: tuple[str, ...] = ()
    priority: int = 0
    verdict: str = PENDING
    reason: str = ""
    iterations: int = 0
    tries: int = 0
    crashes: int = 0
    """Iterations in a row in which the agent died."""
    waits: int = 0
    """Overloads in a row; each is waited for longer than the one before."""
    spent: Usage = field(default_factory=Usage)
    last_cost_usd: float = 0.0
    """What its last iteration cost."""
    verified_usd: float = 0.0
    """What the iteration cost whose work was verified; the others only led there, or nowhere."""
    checks: list[dict[str, Any]] = field(default_factory=list)
    """The results of the checks that decided last."""
    commit: str | None = None
    effect: str | None = None
    question: str | None = None
    session_id: str | None = None
    """The conversation that asked."""
    session_agent: str | None = None
    """Whose conversation it is; no other agent can go on with it."""
    asked: str | None = None
    """What was asked last."""
    first_snapshot: str | None = None
    """What the tree was before the task's first iteration."""
    was_looked_at: bool = False
    """Whether its own checks were run before any work."""
    signatures: list[tuple[str, ...]] = field(default_factory=list)
    failure: str = ""
    """The output of the checks that failed last, for the next prompt."""
    notes: list[str] = field(default_factory=list)
    """What the next prompt must say: denials, undone changes, a broken check."""
    answer: str | None = None
    """What a person said to the question, until the next iteration has heard it."""
    denials: list[str] = field(default_factory=list)
    """Tool calls that were refused."""
    undone: list[str] = field(default_factory=list)
    """Protected parts that were put back."""
    reported: list[dict[str, str]] = field(default_factory=list)
    """What a person should look at: tests that were deleted, skipped or emptied."""
    folded: list[str] = field(default_factory=list)
    """Commits of the agent's own that went into the task's commit."""
    cut: list[dict[str, Any]] = field(default_factory=list)
    """What was left out of its prompts."""
    worker: int | None = None
    """Who goes on with it, where several work side by side."""
    kept: str | None = None
    """The ref that holds its work while it is in no working copy."""
    landed: int = 0
    """How many had landed when it had, itself included."""

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do for it."""
        return self.verdict == PENDING

    def report(self, listed: Iterable[Mapping[str, Any]]) -> None:
        """Tell a person, once."""
        for one in listed:
            told = {"path": str(one["path"]), "what": str(one["what"])}
            if told not in self.reported:
                self.reported.append(told)


@dataclass
class RunState:
    """All tasks, in the order of the plan."""

    tasks: dict[str, TaskState]
    iterations: int = 0
    iteration_costs: list[float] = field(default_factory=list)
    """What each iteration cost, oldest first."""
    hints: list[str] = field(default_factory=list)
    """What the person said for the next iteration."""
    aside: Usage = field(default_factory=Usage)
    """What was used for no single task: summaries."""

    @property
    def spent(self) -> Usage:
        """Everything that the run used."""
        whole = Usage()
        for task in self.tasks.values():
            whole.join(task.spent)
        whole.join(self.aside)
        return whole


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
