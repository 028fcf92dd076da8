"""The receipt: what was done, what it cost, which checks verified it, and how to continue. Pure.

Views, notices and `--json` share this record; its JSON is a public interface.
"""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
import shlex
from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from bridle.loop.effect_results import CheckResult, FileReport, PromptCut
from bridle.loop.effects import OF_TASK
from bridle.loop.json_record import JsonRecord
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.task_state import ACCEPTED, VERIFIED, RunState, TaskState, Usage, Verdict
from bridle.loop.run_inputs import RunInputs
from bridle.loop.settings.limits import Limits

# How the isolation of an agent or check begins that had no sandbox.
WITHOUT_SANDBOX = "none"


class CheckReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """How a check ended that decided about a task."""

    command: str
    owner: str = msgspec.field(name="of", default=OF_TASK)
    """`task`, `guard`, or the title of another task."""
    exit_code: int = 0
    seconds: float = 0.0
    output: str = ""
    excerpt: str = ""
    """Of a check that failed: the first failure and the runner's summary."""
    log: str = ""
    """The file with the raw output, relative to the working copy."""


class IterationCut(PromptCut, frozen=True, kw_only=True):
    """What was left out of an iteration's prompt."""

    iteration: int


class TaskReceipt(JsonRecord, frozen=True, kw_only=True):
    """The receipt of one task."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"undone", "reported", "denials", "folded", "cut", "question"}
    )

    title: str
    verdict: Verdict = Verdict.PENDING
    reason: str = ""
    iterations: int = 0
    tries: int = 0
    checks: tuple[CheckReceipt, ...] = ()
    commit: str | None = None
    cost_usd: float | None = 0.0
    """None where a part of it is not known."""
    known_cost_usd: float = 0.0
    """The known part: at least this was spent."""
    verified_usd: float | None = 0.0
    wasted_usd: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    undone: tuple[str, ...] = ()
    """Protected files that were restored."""
    reported: tuple[FileReport, ...] = ()
    """What the user should look at."""
    denials: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    """Commits of the agent that went into the task's commit."""
    cut: tuple[IterationCut, ...] = ()
    effect: str | None = None
    """The id by which the question is answered."""
    question: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as JSON values; `effect` is there only with a question."""
        document = super().as_json()
        if self.question is None:
            del document["effect"]
        return document


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """A wait for a usage limit or an overloaded endpoint, which ends by itself."""

    effect_id: str = msgspec.field(name="effect")
    reason: str = msgspec.field(name="for")
    until: str

    @property
    def until_seconds(self) -> float:
        """The end as seconds since 1970."""
        return datetime.fromisoformat(self.until).timestamp()


class RunningEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver executes now, for a task or for the whole run."""

    action: str
    """Such as `working` or `running the checks`."""
    task: str | None = None
    iteration: int | None = None
    agent: str | None = None
    tool: str = ""
    """The tool call that runs; empty while the agent thinks or writes."""
    text: str = ""
    """The last text of the agent, cut to a line."""
    since: str = ""
    seconds: float = 0.0
    """How long that is ago."""
    cost_usd: float | None = None
    """What its agents have cost so far; None where that is not known."""


class DriverProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The process that drives the run now."""

    pid: int
    since: str


class JournalHead(msgspec.Struct, frozen=True, kw_only=True):
    """The newest entry of the journal, and the digest of the chain at it, which covers all entries."""

    sequence: int
    head: str
    """Such as `sha256:…`."""


class WorkerCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The working copy of one of several workers."""

    number: int
    head: str
    task: str | None = None
    """The open task whose work is in it."""
    snapshots: tuple[str, ...] = ()
    """The snapshots of that task which may be restored."""


class Receipt(JsonRecord, frozen=True, kw_only=True):
    """The receipt of a run."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"worktree", "found", "stopped", "waiting", "at_work", "now", "baseline", "review", "put_aside", "journal"}
        | {"user_commits", "has_user_changes", "refused", "isolation", "isolation_scope", "foreign", "pull_request"}
        | {"undone", "plan_changes", "uncommitted", "setup"}
    )

    run: str = ""
    plan: str = ""
    """The plan's file, or its title."""
    branch: str = ""
    verdict: Verdict = Verdict.PENDING
    tasks: tuple[TaskReceipt, ...] = ()
    baseline: tuple[CheckReceipt, ...] = ()
    """How each check ended before any work."""
    setup: CheckReceipt | None = None
    """The setup command that failed, for which the run is paused."""
    commits: tuple[str, ...] = ()
    iterations: int = 0
    cost_usd: float | None = 0.0
    """None where a part of it is not known."""
    known_cost_usd: float = 0.0
    """The known part: at least this was spent."""
    verified_usd: float | None = 0.0
    wasted_usd: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    limits: Limits = Limits()
    isolation: str = ""
    """The sandbox of all agents and checks, or `none` and why; empty before the first of them has ended."""
    isolation_scope: str = ""
    """What that sandbox hides and leaves open; only in what is shown, not in the journal."""
    resume: str = ""
    """The command that continues the run."""
    worktree: str | None = None
    undo: str = ""
    """The command that restores the branch and the files from before the run; empty while it cannot be used."""
    undone: str = ""
    """That the run was undone, and where its work is."""
    merge: str = ""
    """The commands that merge its branch; empty while the run is running."""
    review: str = ""
    """The command that shows what its branch has."""
    pull_request: str = ""
    """The commands that open a pull request, where the repository has a remote; only in what is shown."""
    uncommitted: bool = False
    """Whether the run has left its work in the user's files, without commits on the user's branch."""
    user_commits: int = 0
    """The commits of the user that only its branch has."""
    has_user_changes: bool = False
    """Whether commits of tasks that only its branch has contain changes of the user."""
    plan_changes: tuple[str, ...] = ()
    """How the plan and the settings differ now from those that the run uses."""
    put_aside: str = ""
    """The ref of the user's uncommitted changes, while they are not in the files."""
    found: tuple[str, ...] = ()
    """What the user changed while no driver ran."""
    refused: tuple[str, ...] = ()
    """What an agent or a check tried and Bridle refused: results of effects, and commands that steer a run."""
    stopped: str | None = None
    """Why the run does not continue by itself."""
    waiting: Wait | None = None
    journal: JournalHead | None = None
    """None for a run of an earlier version, whose journal has no chain."""
    foreign: str = ""
    """That the run came with the repository, and what to do; no command of it is offered then."""
    driver: DriverProcess | None = msgspec.field(name="at_work", default=None)
    now: tuple[RunningEffect, ...] = ()
    """What that process executes; only `bridle status` knows it."""
    drivers: dict[str, float] = msgspec.field(default_factory=dict)
    """The recorded seconds of each driver, by id; not in the JSON."""
    tip: str = ""
    """The newest commit of the run; not in the JSON."""
    snapshots: tuple[str, ...] = ()
    """The snapshots that may be restored; not in the JSON."""
    changes_known: int = 0
    """The number of the last changes of the user that the process knows; not in the JSON."""
    copies: tuple[WorkerCopy, ...] = ()
    """The copies of parallel workers; not in the JSON."""

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as JSON values, as `bridle status --json` prints it."""
        document = super().as_json() | {"tasks": [task.as_json() for task in self.tasks]}
        for name in ("drivers", "tip", "snapshots", "changes_known", "copies"):
            del document[name]
        return document


class TaskReceipts:
    """The receipts of the tasks of one run, each built again only after its task has changed.

    A process reports its state after every effect, and most tasks of a long plan are as they were.
    """

    def __init__(self) -> None:
        self._built: dict[str, tuple[tuple[object, ...], TaskReceipt]] = {}

    def of(self, task: TaskState) -> TaskReceipt:
        """Return the receipt of a task as it is now."""
        now, built = _content_of(task), self._built.get(task.title)
        if built is None or built[0] != now:
            built = self._built[task.title] = now, _task(task)
        return built[1]


def build_receipt(
    inputs: RunInputs,
    state: RunState,
    limits: Limits,
    *,
    time: ActiveTime,
    copies: Collection[WorkerCopy] = (),
    tip: str = "",
    isolation: str = "",
    built: TaskReceipts | None = None,
) -> Receipt:
    """Build the receipt of a run from its inputs and its state; `copies` are those of parallel workers.

    `built` keeps the receipts of its tasks for the next call.
    """
    built = built or TaskReceipts()
    workers = {copy.number for copy in copies}
    usage, tasks = state.usage, list(state.tasks.values())
    verified = Usage()
    for task in tasks:
        verified.add(task.verified)
    start = shlex.quote(inputs.came_from or inputs.base)
    worktrees = [folder for worker, folder in enumerate(inputs.worktrees) if not worker or worker in workers]
    return Receipt(
        run=inputs.run,
        plan=inputs.plan.source or inputs.plan.title,
        branch=inputs.branch,
        verdict=verdict(tasks),
        tasks=tuple(map(built.of, tasks)),
        baseline=tuple(_baseline_check(result) for result in state.baseline),
        setup=None if state.setup is None else msgspec.convert(state.setup, CheckReceipt, from_attributes=True),
        commits=_commits(tasks, is_distinct=inputs.has_current_decisions),
        iterations=state.iterations,
        cost_usd=usage.total_cost_usd,
        known_cost_usd=usage.known_cost_usd,
        verified_usd=verified.total_cost_usd,
        wasted_usd=usage.cost_without(verified).total_cost_usd,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=round(time.seconds, 3),
        drivers=dict(time.drivers),
        limits=limits,
        isolation=isolation,
        resume=f"bridle resume {inputs.run}",
        worktree=worktrees[0] if worktrees else None,
        undo=f"bridle undo {inputs.run}",
        merge=f"git checkout {start} && git merge {inputs.branch}",
        found=tuple(state.found),
        tip=tip,
        snapshots=tuple(dict.fromkeys(name for task in tasks for name in task.snapshots)),
        changes_known=state.changes_known,
        copies=tuple(copies),
    )


def _baseline_check(result: CheckResult) -> CheckReceipt:
    """Return how a check ended before any work, without its whole output."""
    return msgspec.structs.replace(msgspec.convert(result, CheckReceipt, from_attributes=True), output="")


def describe_isolation(found: tuple[str, ...]) -> str:
    """Return the sandbox of all agents and checks; where some had none, that and why."""
    without = [name for name in found if name.startswith(WITHOUT_SANDBOX)]
    if without and len(without) < len(found):
        return f"{without[0]} (for some agents or checks)"
    return without[0] if without else ", ".join(found)


def _commits(tasks: list[TaskState], *, is_distinct: bool) -> tuple[str, ...]:
    """Return the commits of tasks; after a squash several have the same one."""
    commits = [task.commit for task in tasks if task.commit]
    return tuple(dict.fromkeys(commits) if is_distinct else commits)


def verdict(tasks: list[TaskState]) -> Verdict:
    """Return the verdict of a run: the worst of its tasks'."""
    verdicts = {task.verdict for task in tasks}
    if verdicts <= VERIFIED:
        return Verdict.DONE
    if Verdict.NEEDS_YOU in verdicts:
        return Verdict.NEEDS_YOU
    if verdicts - ACCEPTED - {Verdict.PENDING}:
        return Verdict.FAILED
    return Verdict.PENDING if Verdict.PENDING in verdicts else Verdict.UNVERIFIED


def _content_of(task: TaskState) -> tuple[object, ...]:
    """Return what the receipt of a task is built from, in a form that does not change with the task."""
    return (
        *(task.verdict, task.reason, task.iterations, task.uncounted, task.tries, task.commit, task.question),
        *(task.checks, msgspec.structs.astuple(task.usage), msgspec.structs.astuple(task.verified)),
        *(tuple(task.undone), tuple(task.reported), tuple(task.denials), tuple(task.folded), tuple(task.cut)),
    )


def _task(task: TaskState) -> TaskReceipt:
    return TaskReceipt(
        title=task.title,
        verdict=task.verdict,
        reason=task.reason,
        iterations=task.iterations - task.uncounted,
        tries=task.tries,
        checks=tuple(msgspec.convert(check, CheckReceipt, from_attributes=True) for check in task.checks),
        commit=task.commit,
        cost_usd=task.usage.total_cost_usd,
        known_cost_usd=task.usage.known_cost_usd,
        verified_usd=task.verified.total_cost_usd,
        wasted_usd=task.usage.cost_without(task.verified).total_cost_usd,
        input_tokens=task.usage.input_tokens,
        output_tokens=task.usage.output_tokens,
        seconds=round(task.usage.seconds, 3),
        undone=tuple(task.undone),
        reported=tuple(task.reported),
        denials=tuple(task.denials),
        folded=tuple(task.folded),
        cut=tuple(
            IterationCut(iteration=iteration, section=cut.section, characters=cut.characters, kept=cut.kept)
            for iteration, cut in task.cut
        ),
        question=task.question,
    )
