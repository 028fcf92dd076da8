"""The results of the loop's effects: one record for each kind, decoded once where it arrives in the process. Pure."""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
from typing import Any, ClassVar

import msgspec

from bridle.loop.json_record import JsonRecord

# How an agent's work ended.
OK = "ok"
"""The agent ended by itself, successfully or not: the checks decide."""
CRASHED = "crashed"
"""The agent died, its retry included."""
LIMIT = "limit"
"""The account's usage limit is reached; `limit_resets_at` is when it ends, where that is known."""
TRANSIENT = "transient"
"""The endpoint was overloaded or refused for a moment (429, 529)."""
BUDGET = "budget"
"""The workspace's own budget is spent: no agent was started."""
UNUSABLE = "unusable"
"""The agent is not installed, not logged in, not paid for, or cannot reach its endpoint."""
QUESTION = "question"
"""The agent asked a question and waits for the answer."""

# The exit code of a check at its time limit, as for agents; exit codes of programs are not negative.
TIMED_OUT = -1

# Endings of agents that have read their prompt and acted on it.
PROMPT_WAS_READ = (OK, QUESTION)


class Clock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the driver of an effect began and when the effect was finished, by the system clock and by steady seconds.

    Only the seconds count, since a system clock can be set. Runs of earlier versions have none.
    """

    since: str
    until: str
    driver: str | None = None
    """The driver's id."""
    seconds: float | None = None
    """How long the driver had run when the effect was finished."""
    earlier: dict[str, float] = {}
    """How long earlier drivers ran, by id, as far as no result recorded it."""


class MovedCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's copy that has another commit since the user's changes."""

    worker: int
    before: str
    head: str
    tree: str
    """The files, as a git tree."""


class UserChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What the user changed in the run's working copy while no driver ran; the first result of a driver has it."""

    number: int
    """Counts such changes in a run."""
    before: str
    """The newest commit of the run, as the process knows it."""
    tip: str
    """The newest commit now: later ones are the agent's."""
    commits: dict[str, str] = {}
    """The new ids of tasks' commits after a rebase, by title."""
    gone: tuple[str, ...] = ()
    """The tasks whose commits are not on the branch any more."""
    lost: tuple[str, ...] = ()
    """The tasks in `gone` whose commits git has lost: their work is gone."""
    copies: tuple[MovedCopy, ...] = ()
    """The copies of parallel workers that were moved to other commits."""
    lines: tuple[str, ...] = ()
    """What was found, for the user."""

    def copy_of(self, worker: int | None) -> MovedCopy | None:
        """Return how a worker's copy was moved; None where it was not."""
        return next((copy for copy in self.copies if copy.worker == worker), None)


class Result(JsonRecord, frozen=True, kw_only=True):
    """The result of any effect."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock"})

    clock: Clock | None = None
    """Set for effects that Bridle executes."""
    user_changes: UserChanges | None = None
    isolation: str = ""
    """The sandbox of the agent or the checks, or `none` and why; empty for effects that start neither."""

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without user changes and isolation if they are empty."""
        document = super().as_json()
        for name in ("user_changes", "isolation"):
            if not document[name]:
                del document[name]
        return document


class CopyResult(Result, frozen=True, kw_only=True):
    """The result of an effect in a working copy, with the state of that copy where it changed."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "head"})

    head: str | None = None
    """The commit that is checked out."""
    tree: str | None = None
    """The files, as a git tree."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one check ended."""

    command: str
    owner: str = msgspec.field(name="of", default="task")
    """`task`, `guard`, or the title of another task."""
    exit_code: int = 0
    """128 plus the signal's number where a signal ended it, as shells do; -1 where it timed out."""
    seconds: float = 0.0
    timed_out: bool = False
    output: str = ""
    """Masked, and cut to its two ends."""
    excerpt: str = ""
    """Of a check that failed: the first failure and the runner's summary. Runs of earlier versions have none."""
    log: str = ""
    """The file with the raw output, relative to the workspace."""
    argv: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the command succeeded."""
        return self.exit_code == 0


class FileReport(msgspec.Struct, frozen=True):
    """A fact about a file that the user or the next prompt should know."""

    path: str
    what: str


class PromptCut(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a prompt that was longer than its limit."""

    section: str
    characters: int
    """Its full length."""
    kept: int


class UserMessages(JsonRecord, frozen=True, kw_only=True):
    """The hints, retries and limits that the user sent to a running run."""

    after: int = 0
    """The sequence number of the last journal entry that was read."""
    hints: tuple[str, ...] = ()
    retries: tuple[str, ...] = ()
    """Titles of tasks to try again."""
    retries_at: tuple[int, ...] = ()
    """The sequence number of each retry."""
    limits: dict[str, Any] = msgspec.field(default_factory=dict)
    """New values of limits and of settings of agents, by name."""
    plan: dict[str, Any] | None = None
    """The plan that replaces that of the run, for what is not done."""
    plan_at: int = 0
    """The sequence number of its entry."""


class PrepareResult(Result, frozen=True, kw_only=True):
    """The branch of the run, and the files that are protected from now on."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "setup", "found"})

    branch: str = ""
    base: str = ""
    protected: tuple[str, ...] = ()
    origin: str = ""
    """The digest of the recorded baseline."""
    setup: CheckResult | None = None
    """The setup command that failed."""
    found: tuple[str, ...] = ()
    """What the user should know of the files as they are now."""


class ChecksResult(CopyResult, frozen=True, kw_only=True):
    """How the checks ended, and on which tree they ran."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "head", "outside", "reported"})

    passed: bool = False
    results: tuple[CheckResult, ...] = ()
    changed: tuple[str, ...] = ()
    """Files that a check changed, now restored."""
    changed_count: int = 0
    outside: tuple[str, ...] = ()
    """Files that no commit contains, if the checks fail without them."""
    reported: tuple[FileReport, ...] = ()
    """What the code that the checks ran changed in `.git`, or in files that programs of the user run later."""


class WorkResult(CopyResult, frozen=True, kw_only=True):
    """The outcome of one agent iteration."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"clock", "head", "failed", "known_cost_usd", "wasted_usd", "conflicts"}
    )

    ending: str = OK
    message: str = msgspec.field(name="said", default="")
    """Why the agent ended that way; after `ok` its error, or what else was wrong with its end."""
    failed: bool = False
    """Whether the agent's own result is an error. Recorded runs of earlier versions do not say."""
    summary: str = ""
    done: bool = False
    """Whether the agent says that the task is done."""
    question: str = ""
    patterns: tuple[str, ...] = ()
    """Facts about the repository for later prompts."""
    session_id: str | None = None
    changed: bool = False
    """Whether the agent changed a file or made a commit."""
    snapshot: str | None = None
    """The snapshot that was taken before the iteration."""
    denials: tuple[str, ...] = ()
    """Tool calls that were refused."""
    cost_usd: float | None = 0.0
    """None where the cost of an agent is not known."""
    known_cost_usd: float = 0.0
    """The known part of an unknown cost."""
    wasted_usd: float = 0.0
    """The part of the known cost that attempts had which crashed or were interrupted."""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    attempts: int = 0
    limit_resets_at: str | None = msgspec.field(name="resets_at", default=None)
    log: str | None = None
    prompt: str = ""
    """The file with the prompt, relative to the run's folder."""
    cut: tuple[PromptCut, ...] = ()
    user_messages: UserMessages = msgspec.field(name="news", default=UserMessages())
    """What the user sent, as far as this iteration's prompt includes it."""
    left_branch: bool = False
    """Whether the agent had checked out another branch or moved this one."""
    git_changes: tuple[FileReport, ...] = msgspec.field(name="repository", default=())
    """What the agent changed in `.git` or in Bridle's folders, now restored."""
    conflicts: tuple[str, ...] = ()
    """Files with conflict markers of a merge, rebase or stash that the agent did not finish."""


class ProtectResult(CopyResult, frozen=True, kw_only=True):
    """Which changes to protected files were undone, and what the user should look at."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "head", "outside", "untracked", "kept"})

    untracked: tuple[str, ...] = ()
    """The user's untracked files among those that were restored."""
    outside: tuple[str, ...] = ()
    """Files that the agent changed and no commit contains: the user's untracked ones, nested repositories, files that
    git cannot add or that were removed from it, and without other changes ignored ones."""
    changed: bool = False
    """Whether changes are left."""
    undone: tuple[FileReport, ...] = ()
    kept: str = ""
    """The ref with the files as they were before that; empty where none of them existed."""
    reported: tuple[FileReport, ...] = ()


class CommitResult(CopyResult, frozen=True, kw_only=True):
    """The commit of a task; or why none was made."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"clock", "head", "tree", "refused", "hook", "reported", "again"}
    )

    commit: str | None = None
    """None where nothing had changed since the last commit."""
    found: bool = False
    """Whether an interrupted attempt had already made it."""
    folded: tuple[str, ...] = ()
    """Commits of the agent that went into it."""
    refused: str | None = None
    """The output of the hook that refused the commit."""
    hook: CheckResult | None = None
    """How git's own hook ended that refused it; native hooks have none."""
    reported: tuple[FileReport, ...] = ()
    """What code that git's own hooks ran did to the repository."""
    again: str | None = None
    """The tree that would be committed, where it is not the one that the checks ran on."""


class RollbackResult(CopyResult, frozen=True, kw_only=True):
    """The snapshot that was restored, and the name of the one that holds the undone work."""

    restored: str = ""
    kept: str = ""


class PrepareCopyResult(CopyResult, frozen=True, kw_only=True):
    """A worker's copy at the newest commit, with earlier work of the task where that merged."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "head", "conflicts", "conflicts_with", "said"})

    setup: CheckResult | None = None
    """The setup command that failed."""
    conflicts: tuple[str, ...] = ()
    """Files in which the earlier work conflicts."""
    conflicts_with: tuple[str, ...] = ()
    """Titles of the tasks that changed them."""
    message: str = msgspec.field(name="said", default="")
    """The output of git."""


class SaveWorkResult(CopyResult, frozen=True, kw_only=True):
    """The ref that holds the work of a task while it waits."""

    kept: str = ""


class MergeResult(PrepareCopyResult, frozen=True, kw_only=True):
    """A task's commit on top of the newest one; or the files in which it conflicts."""

    commit: str | None = None
    kept: str = ""
    """The ref that holds the task's work."""


class LandResult(Result, frozen=True, kw_only=True):
    """The branch of the run, now at this commit; or the commits that the user has added to it since."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "newer"})

    commit: str = ""
    branch: str = ""
    newer: str | None = None
    """The newest commit of the branch, where the user has added commits to it: nothing has landed."""


class SummarizeResult(Result, frozen=True, kw_only=True):
    """What summarizing the progress used."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"clock", "known_cost_usd"})

    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    attempts: int = 0


class PauseResult(UserMessages, frozen=True, kw_only=True):
    """What `resume` and `retry` sent to a paused run."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"after", "hints", "retries", "retries_at", "limits", "kept_hints", "plan", "plan_at"}
    )

    kept_hints: tuple[str, ...] = ()
    """Hints that no iteration has read yet."""
