"""The state of each task of a run, folded from the results of effects in the order of the journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

from bridle.loop.effect_results import CheckResult, FileReport, PromptCut, SummarizeResult, WorkResult
from bridle.loop.effects import AnsweredQuestion
from bridle.loop.plan.model import Plan


class Verdict(StrEnum):
    """The result of a task, in the words of the receipt."""

    PENDING = "pending"
    DONE = "done"
    GUARD_ONLY = "done (guard only)"
    SATISFIED = "already satisfied"
    UNVERIFIED = "unverified"
    FAILED = "failed"
    STUCK = "stuck"
    NEEDS_YOU = "needs you"
    BLOCKED = "blocked"


# Work that checks have verified.
VERIFIED = frozenset({Verdict.DONE, Verdict.GUARD_ONLY, Verdict.SATISFIED})
CHECKS_PASSED = "its checks passed"
"""The reason of a task that is done, where nothing else is to say."""
# What satisfies a `Needs:` of another task.
ACCEPTED = VERIFIED | {Verdict.UNVERIFIED}
# Work that was given up.
UNSUCCESSFUL = frozenset({Verdict.FAILED, Verdict.STUCK})
# What only the user can change, with `retry`.
FINAL = ACCEPTED | UNSUCCESSFUL | {Verdict.BLOCKED}


class Usage(Struct):
    """The cost, tokens and time of work."""

    cost_usd: float = 0.0
    """As far as it is known."""
    unknown_costs: int = 0
    """How often the cost of agents is not known."""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, result: WorkResult | SummarizeResult) -> Usage:
        """Return what an effect used."""
        cost = result.cost_usd
        return cls(
            result.known_cost_usd if cost is None else cost,
            int(cost is None),
            result.input_tokens,
            result.output_tokens,
            result.seconds,
        )

    @property
    def total_cost_usd(self) -> float | None:
        """The cost to a millionth of a dollar; None where a part of it is not known."""
        return None if self.unknown_costs else round(self.cost_usd, 6)

    @property
    def known_cost_usd(self) -> float:
        """The known part of the cost to a millionth of a dollar."""
        return round(self.cost_usd, 6)

    def cost_without(self, other: Usage) -> Usage:
        """Return the cost without that of a part."""
        return Usage(max(0.0, self.cost_usd - other.cost_usd), self.unknown_costs - other.unknown_costs)

    def add(self, other: Usage) -> None:
        """Add what something else used."""
        self.cost_usd += other.cost_usd
        self.unknown_costs += other.unknown_costs
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.seconds += other.seconds


class TaskState(Struct):
    """The state of one task of the plan."""

    title: str
    needs: tuple[str, ...] = ()
    priority: int = 0
    verdict: Verdict = Verdict.PENDING
    reason: str = ""
    iterations: int = 0
    tries: int = 0
    """Iterations that left the task not done."""
    crashes: int = 0
    """Iterations in a row in which the agent died."""
    uncounted: int = 0
    """Iterations that an overload ended; they count against no limit."""
    policy_answers: int = 0
    """Questions in a row that a policy answered."""
    waits: int = 0
    """Overloads in a row; each is waited for longer than the one before."""
    usage: Usage = field(default_factory=Usage)
    last: Usage = field(default_factory=Usage)
    """The cost of its last iteration, without attempts that crashed or were interrupted."""
    verified: Usage = field(default_factory=Usage)
    """The cost of the iteration whose work was verified; that of the others counts as wasted."""
    checks: tuple[CheckResult, ...] = ()
    """The results of the checks that decided last."""
    checked_on: str = ""
    """The commit that its work was based on when its checks ran last; empty where the user changed files since."""
    commit: str | None = None
    question: str | None = None
    """The question that waits for the user's answer."""
    last_question: str | None = None
    session_id: str | None = None
    """The session that asked."""
    session_agent: str | None = None
    """The agent of that session; no other can resume it."""
    first_snapshot: str | None = None
    """The snapshot from before the task's first iteration."""
    last_snapshot: str | None = None
    """The snapshot from before its last iteration."""
    outside: list[str] = field(default_factory=list)
    """Files that its agents changed and no commit contains."""
    has_work: bool = False
    """Whether the working copy may have changes of its agents that are not committed."""
    was_checked_first: bool = False
    """Whether its own checks have run before any work."""
    signatures: list[tuple[str, ...]] = field(default_factory=list)
    failure: str = ""
    """The output of the checks that failed last, for the next prompt."""
    notes: list[str] = field(default_factory=list)
    """What the next prompt must mention: denials, undone changes, a broken check."""
    answer: str | None = None
    """The user's answer, until an iteration has read it."""
    answered: list[AnsweredQuestion] = field(default_factory=list)
    """The questions whose answers an iteration has read, the oldest first."""
    conflicts: tuple[str, ...] = ()
    """Files in which its agents left conflict markers."""
    denials: list[str] = field(default_factory=list)
    """Tool calls that were refused."""
    undone: list[str] = field(default_factory=list)
    """Protected files that were restored."""
    reported: list[FileReport] = field(default_factory=list)
    """What the user should look at: tests that were deleted, skipped or emptied."""
    folded: list[str] = field(default_factory=list)
    """Commits of the agent that went into the task's commit."""
    cut: list[tuple[int, PromptCut]] = field(default_factory=list)
    """What was left out of its prompts, with the number of the iteration."""
    worker: int | None = None
    """The worker that continues it, where there are several."""
    kept: str | None = None
    """The ref that holds its work while it is in no working copy."""
    landed: int = 0
    """How many tasks had landed when it had, itself included."""

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do for it."""
        return self.verdict == Verdict.PENDING

    @property
    def snapshots(self) -> list[str]:
        """The snapshots that may be restored, the newest last."""
        return [name for name in (self.first_snapshot, self.last_snapshot) if name and self.verdict not in ACCEPTED]

    def restore_tries(self) -> None:
        """Give the task all its tries again."""
        self.verdict, self.reason, self.tries, self.crashes = Verdict.PENDING, "", 0, 0
        self.checked_on = ""
        self.signatures.clear()

    def report(self, reports: Iterable[FileReport]) -> None:
        """Add reports for the user, each once."""
        self.reported += [report for report in dict.fromkeys(reports) if report not in self.reported]


class RunState(Struct):
    """The state of all tasks, in the order of the plan."""

    tasks: dict[str, TaskState]
    iterations: int = 0
    iteration_costs: list[float] = field(default_factory=list)
    """The cost of each iteration, oldest first."""
    baseline: tuple[CheckResult, ...] = ()
    """How the checks ended before any work."""
    setup: CheckResult | None = None
    """The setup command that failed, while the run waits for the user to fix it."""
    hints: list[str] = field(default_factory=list)
    """The user's hints for the next iteration."""
    overhead: Usage = field(default_factory=Usage)
    """What was used for no single task: summaries."""
    found: list[str] = field(default_factory=list)
    """What the user changed while no driver ran, and what of theirs the commits lack."""
    changes_known: int = 0
    """The number of the last of these changes."""
    dropped: list[str] = field(default_factory=list)
    """Tasks that are not in a new plan; they go when nothing works on them."""

    @classmethod
    def of(cls, plan: Plan) -> RunState:
        """Return the state of a run that has not begun."""
        return cls({task.title: TaskState(task.title, task.needs, task.priority or 0) for task in plan.tasks})

    @property
    def usage(self) -> Usage:
        """Everything that the run used."""
        whole = Usage()
        for task in self.tasks.values():
            whole.add(task.usage)
        whole.add(self.overhead)
        return whole
