"""The effects that the loop asks for, by their kinds: what each is given, and what its value holds.

bridle.prepare      gets nothing
                    gives branch, base, protected (paths), notes
bridle.check        gets task, iteration, when (before, after, commit, merge), checks [{command, of}]
                    gives tree, passed, results [{command, of, exit_code, seconds, output, log}]
bridle.work         gets task, iteration, agent, failure, notes, asked, answer, session_id, after, hints
                    gives ending, said, summary, done, question, patterns, session_id, changed, tree, snapshot, denials,
                    cost_usd, input_tokens, output_tokens, seconds, resets_at, log, prompt, cut, news, left_branch,
                    repository [{path, what}]
bridle.protect      gets task, iteration, snapshot, may_edit, tip
                    gives tree, changed, undone [{path, what}], reported [{path, what}]
bridle.commit       gets task, iteration, verdict, cost_usd, checks, tree, tip (the last commit for a task)
                    gives commit, tree, found, folded; or refused (why), or again (other files than were checked)
bridle.rollback     gets task, iteration, snapshot, why
                    gives restored
bridle.take         gets task, iteration, tip, kept
                    gives head, tree, setup (the result of one that failed), conflicts, conflicts_with, said
bridle.keep         gets task, iteration
                    gives kept (a ref), tree
bridle.merge        gets task, iteration, commit, tip, verdict, cost_usd, checks
                    gives commit, head, tree, kept, setup; or kept, tree, conflicts, conflicts_with, said
bridle.land         gets task, iteration, commit, tip
                    gives commit, branch
bridle.summarize    gets iteration, agent
                    gives cost_usd, input_tokens, output_tokens, seconds
bridle.pause        gets why (limit, unusable, setup, ended), reason, exit_code, receipt, after
                    gives what `resume` and `retry` say: limits, retries; and what nobody had heard: after, kept_hints

Where a run works in a worktree, each gets `stands` besides: the commit and the files that its copy has, if it must be
made anew; where several workers are at work, `worker`: whose copy it is.
The value of each that Bridle performs holds `clock`: when its driver began, and when it was over.
`of` is `task`, `guard`, or the title of another task. `ending` is one of the words below.
"""

from __future__ import annotations

from typing import Any

PREPARE = "bridle.prepare"
CHECK = "bridle.check"
WORK = "bridle.work"
PROTECT = "bridle.protect"
COMMIT = "bridle.commit"
ROLLBACK = "bridle.rollback"
TAKE = "bridle.take"
KEEP = "bridle.keep"
MERGE = "bridle.merge"
LAND = "bridle.land"
SUMMARIZE = "bridle.summarize"
PAUSE = "bridle.pause"

PERFORMED = (PREPARE, CHECK, WORK, PROTECT, COMMIT, ROLLBACK, TAKE, KEEP, MERGE, LAND, SUMMARIZE)

# When checks run on the commit that is about to land.
WHEN_MERGED = "merge"

# How an agent's work ended.
OK = "ok"
"""It ended by itself, well or not: the checks decide."""
CRASHED = "crashed"
"""It died, its retry included."""
LIMIT = "limit"
"""The account's limit is used up; `resets_at` says until when, where that is known."""
TRANSIENT = "transient"
"""The endpoint was overloaded or refused for a moment (429, 529)."""
BUDGET = "budget"
"""The workspace's own budget is spent: no agent was started."""
UNUSABLE = "unusable"
"""Not found, not logged in, not paid for."""
QUESTION = "question"
"""It asked something, and waits."""

# Endings of agents that have read their prompt and acted on it.
HEARD = (OK, QUESTION)

# Why a run pauses.
WHY_LIMIT = "limit"
WHY_USAGE = "usage limit"
WHY_UNUSABLE = "unusable"
WHY_BUDGET = "budget"
WHY_SETUP = "setup"
WHY_ENDED = "ended"


def work_purpose(run: str, args: dict[str, Any]) -> str:
    """What the agents of an iteration are for: of all runs, only these have it."""
    return f"{run}/{work_label(args)}"


def work_label(args: dict[str, Any]) -> str:
    """What an iteration is called in the journal; no two of a run have the same."""
    return f"{args['task']}: iteration {args['iteration']}"
