"""The effects of the loop: their kinds, and one record for the arguments of each. Pure.

The JSON of these records is compared by its digest when a recorded run is replayed: keys and values must not change.
"""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from bridle.loop.effect_results import (
    ChecksResult,
    CommitResult,
    CopyResult,
    LandResult,
    MergeResult,
    PauseResult,
    PrepareCopyResult,
    PrepareResult,
    ProtectResult,
    RollbackResult,
    SaveWorkResult,
    SummarizeResult,
    WorkResult,
)
from bridle.loop.json_record import JsonRecord

PREPARE = "bridle.prepare"
CHECK = "bridle.check"
WORK = "bridle.work"
PROTECT = "bridle.protect"
COMMIT = "bridle.commit"
ROLLBACK = "bridle.rollback"
PREPARE_COPY = "bridle.take"
SAVE_WORK = "bridle.keep"
MERGE = "bridle.merge"
LAND = "bridle.land"
SUMMARIZE = "bridle.summarize"
PAUSE = "bridle.pause"

PERFORMED = (PREPARE, CHECK, WORK, PROTECT, COMMIT, ROLLBACK, PREPARE_COPY, SAVE_WORK, MERGE, LAND, SUMMARIZE)
"""The kinds that Bridle executes; a pause is ended by the user."""

ACTIONS = {
    PREPARE: "creating the branch",
    CHECK: "running the checks",
    WORK: "working",
    PROTECT: "restoring protected files",
    COMMIT: "committing",
    ROLLBACK: "reverting",
    PREPARE_COPY: "preparing the worktree",
    SAVE_WORK: "saving the work",
    MERGE: "merging with other tasks",
    LAND: "landing",
    SUMMARIZE: "summarizing the progress",
}
"""What each of them does, for displays."""

# When checks run.
BASELINE = "baseline"
"""Before the first agent: every check of the plan, for no single task."""
BEFORE_WORK = "before"
AFTER_WORK = "after"
BEFORE_COMMIT = "commit"
BEFORE_LANDING = "merge"

# Owners of checks, besides the titles of other tasks.
OF_TASK = "task"
OF_GUARD = "guard"

# Why a run pauses.
WHY_LIMIT = "limit"
WHY_USAGE = "usage limit"
WHY_UNUSABLE = "unusable"
WHY_BUDGET = "budget"
WHY_SETUP = "setup"
WHY_PLAN = "plan"
"""A check of the plan cannot start."""
WHY_ENDED = "ended"
WHY_QUESTIONS = "questions"
"""Beside open questions: for retries and limits, which arrive without an answer."""

R = TypeVar("R", bound=JsonRecord)
C = TypeVar("C", bound=CopyResult)


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a worktree must have if it has to be made again."""

    head: str = ""
    tree: str | None = None
    """The files, where they are not those of `head`."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One command of the plan."""

    command: str
    owner: str = msgspec.field(name="of")
    """`task`, `guard`, or the title of another task."""


class AnsweredQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a task's agent, and its answer."""

    question: str
    answer: str


class Arguments(JsonRecord, Generic[R], frozen=True, kw_only=True):
    """The arguments of an effect whose result is an `R`."""

    kind: ClassVar[str]
    result: ClassVar[type[JsonRecord]]

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"worker", "stands"})  # language: a recorded key

    worker: int | None = None
    """The worker in whose worktree it runs; absent where there is only one."""
    copy_state: CopyState | None = msgspec.field(name="stands", default=None)  # language: a recorded key
    """Absent where the run works in the user's own working copy."""


class TaskArguments(Arguments[R], Generic[R], frozen=True, kw_only=True):
    """The arguments of an effect for a task."""

    task: str = ""
    """The task's title."""
    iteration: int = 0


class PrepareArgs(Arguments[PrepareResult], frozen=True, kw_only=True):
    """Make the run's branch and record the baseline."""

    kind: ClassVar[str] = PREPARE
    result: ClassVar[type[JsonRecord]] = PrepareResult


class CheckArgs(TaskArguments[ChecksResult], frozen=True, kw_only=True):
    """Run checks."""

    kind: ClassVar[str] = CHECK
    result: ClassVar[type[JsonRecord]] = ChecksResult

    omitted_if_empty: ClassVar[frozenset[str]] = Arguments.omitted_if_empty | {"outside", "snapshot"}

    when: str = AFTER_WORK
    checks: tuple[Check, ...] = ()
    outside: tuple[str, ...] = ()
    """Files that the agent changed and no commit contains: whether the checks need them is found out."""
    snapshot: str | None = None
    """The snapshot with the earlier content of those that the user had."""


class WorkArgs(TaskArguments[WorkResult], frozen=True, kw_only=True):
    """Run one agent on a task."""

    kind: ClassVar[str] = WORK
    result: ClassVar[type[JsonRecord]] = WorkResult
    omitted_if_empty: ClassVar[frozenset[str]] = Arguments.omitted_if_empty | {"hints", "conflicts", "answered"}

    agent: str = ""
    failure: str = ""
    """The output of the checks that failed last."""
    notes: tuple[str, ...] = ()
    """What the prompt must mention: denials, undone changes, broken checks."""
    question: str | None = msgspec.field(name="asked", default=None)
    """The question that `answer` belongs to."""
    answer: str | None = None
    answered: tuple[AnsweredQuestion, ...] = ()
    """Earlier questions of the task's agents with their answers, the oldest first."""
    session_id: str | None = None
    """The session to resume, where this agent asked the question."""
    after: int = 0
    """The last journal entry whose user messages are known."""
    hints: tuple[str, ...] = ()
    """Hints that arrived while the run paused."""
    conflicts: tuple[str, ...] = ()
    """Files in which earlier iterations left conflict markers."""


class ProtectArgs(TaskArguments[ProtectResult], frozen=True, kw_only=True):
    """Undo changes to protected files."""

    kind: ClassVar[str] = PROTECT
    result: ClassVar[type[JsonRecord]] = ProtectResult
    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"worker", "stands", "origin"})  # language: a recorded key

    snapshot: str | None = None
    may_edit: tuple[str, ...] = ()
    tip: str | None = None
    """The last commit that was made for a task."""
    origin: str | None = None
    """The digest that the baseline must have."""


class CommitArgs(TaskArguments[CommitResult], frozen=True, kw_only=True):
    """Commit the work of a task."""

    kind: ClassVar[str] = COMMIT
    result: ClassVar[type[JsonRecord]] = CommitResult
    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"worker", "stands", "known_cost_usd", "as_checked"}  # language: recorded
    )

    verdict: str = ""
    cost_usd: float | None = 0.0
    """None where it is not known."""
    known_cost_usd: float = 0.0
    """The known part of an unknown cost."""
    checks: int = 0
    """How many checks passed."""
    tree: str | None = None
    """The tree that the checks ran on; None where there are no checks."""
    tip: str | None = None
    """The commit that the task started from: later ones are the agent's."""
    as_checked: bool = False
    """Commit the tree that the checks ran on, although another program keeps changing the files."""


class RollbackArgs(TaskArguments[RollbackResult], frozen=True, kw_only=True):
    """Restore a snapshot."""

    kind: ClassVar[str] = ROLLBACK
    result: ClassVar[type[JsonRecord]] = RollbackResult

    snapshot: str = ""
    why: str = ""


class PrepareCopyArgs(TaskArguments[PrepareCopyResult], frozen=True, kw_only=True):
    """Bring a worker's copy to the newest commit."""

    kind: ClassVar[str] = PREPARE_COPY
    result: ClassVar[type[JsonRecord]] = PrepareCopyResult

    tip: str = ""
    kept: str | None = None
    """The ref with earlier work of the task, to be merged."""


class SaveWorkArgs(TaskArguments[SaveWorkResult], frozen=True, kw_only=True):
    """Save the work of a task that waits for an answer."""

    kind: ClassVar[str] = SAVE_WORK
    result: ClassVar[type[JsonRecord]] = SaveWorkResult


class MergeArgs(TaskArguments[MergeResult], frozen=True, kw_only=True):
    """Rebase a task's commit onto the newest one, in the worker's copy."""

    kind: ClassVar[str] = MERGE
    result: ClassVar[type[JsonRecord]] = MergeResult
    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"worker", "stands", "known_cost_usd"})  # language: recorded

    verdict: str = ""
    cost_usd: float | None = 0.0
    """None where it is not known."""
    known_cost_usd: float = 0.0
    """The known part of an unknown cost."""
    checks: int = 0
    commit: str = ""
    tip: str = ""


class LandArgs(TaskArguments[LandResult], frozen=True, kw_only=True):
    """Move the run's branch to a commit whose checks passed."""

    kind: ClassVar[str] = LAND
    result: ClassVar[type[JsonRecord]] = LandResult

    commit: str = ""
    tip: str = ""


class SummarizeArgs(Arguments[SummarizeResult], frozen=True, kw_only=True):
    """Replace old progress entries by a summary."""

    kind: ClassVar[str] = SUMMARIZE
    result: ClassVar[type[JsonRecord]] = SummarizeResult

    iteration: int = 0
    agent: str = ""


class PauseArgs(Arguments[PauseResult], frozen=True, kw_only=True):
    """Wait for `bridle resume` or `bridle retry`."""

    kind: ClassVar[str] = PAUSE
    result: ClassVar[type[JsonRecord]] = PauseResult

    why: str = ""
    reason: str = ""
    exit_code: int = 1
    receipt: dict[str, Any] = msgspec.field(default_factory=dict)
    after: int = 0
    """The last journal entry whose user messages are known."""


def title_of(args: Arguments[Any]) -> str | None:
    """Return the title of the task that an effect is for; None where it is for none."""
    return args.task or None if isinstance(args, TaskArguments) else None


def work_purpose(run: str, args: WorkArgs) -> str:
    """Return the purpose that the logs of an iteration's agents carry; unique among all runs."""
    return f"{run}/{work_label(args)}"


def summary_purpose(run: str, args: SummarizeArgs) -> str:
    """Return the purpose that the logs of a summary's agents carry; unique among all runs."""
    return f"{run}/summary {args.iteration}"


def work_label(args: WorkArgs) -> str:
    """Return the label of an iteration in the journal; unique within a run."""
    return f"{args.task}: iteration {args.iteration}"
