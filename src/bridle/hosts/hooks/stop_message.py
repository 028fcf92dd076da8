"""The text of a blocked stop, for the agent and for the user. Pure."""

from __future__ import annotations

from bridle.ground.light.abc_names import Sequence
from bridle.ground.light.shell_word import shell_word
from bridle.hosts.hooks.stop_rules import BREAKPOINT, CLOSING, OPENING, SLEEP, RunFacts
from bridle.hosts.sessions.session import Session
from bridle.journal.format.state import COMPLETED, FAILED, WAITING

UNLIMITED = "unlimited"

# Enough for a whole specification; more than this would fill the agent's context at each stop.
PROMPT_LIMIT_CHARACTERS = 200_000

# Hosts end a command after a minute or two unless the agent asks for more.
WAIT_LIMIT_SECONDS = 60


def block(
    session: Session, run: RunFacts, *, program: str, folder: str, prompt: str, skills: Sequence[str]
) -> dict[str, str]:
    """Return the answer that blocks a stop; `session` is the session after this stop."""
    head = f"Bridle iteration {session.iteration}"
    context = _instructions(run, shell_word(program), shell_word(folder))
    if skills:
        context += f" | Available: {', '.join(skills)}"
    if len(prompt) > PROMPT_LIMIT_CHARACTERS:
        prompt = prompt[:PROMPT_LIMIT_CHARACTERS] + " […]"
    limit = session.max_iterations or UNLIMITED
    return {
        "decision": "block",
        "reason": f"{head} | {context}\n\n{prompt}",
        "systemMessage": f"{head}/{limit} [{run.state}]",
    }


def _instructions(run: RunFacts, program: str, folder: str) -> str:
    iterate = f"{program} run:iterate {folder} --json"
    if run.state == COMPLETED:
        return (
            f"The run has completed. To end this session, call `{program} run:status {folder} --json`, take the value"
            f" of its field completionProof, and write it between {OPENING} and {CLOSING} in your answer, and nowhere"
            " else."
        )
    if run.state == FAILED:
        return (
            f"The run has failed. `{program} run:events {folder} --limit 5 --reverse --json` shows why: fix the"
            f" process or what it depends on, then call `{iterate}`."
        )
    if run.state == WAITING:
        kinds = ", ".join(run.kinds)
        pending = f"`{program} task:list {folder} --pending --json`"
        return (
            f"The run waits for: {kinds}. {_pending_instructions(run, pending, program, folder)} Then call `{iterate}`."
        )
    return f"The run continues when you call `{iterate}`."


def _pending_instructions(run: RunFacts, pending: str, program: str, folder: str) -> str:
    if set(run.kinds) == {SLEEP}:
        return _sleep_instructions(run)
    post = f"post each result with `{program} task:post {folder} EFFECT --status ok --value FILE --json`"
    text = f"{pending} lists the pending effects: execute each of them and {post}."
    if BREAKPOINT in run.kinds:
        text += (
            " Only the user may answer a breakpoint: ask, and post the answer verbatim."
            if run.is_interactive
            else " No user is available to answer a breakpoint: decide it from its task, and post your decision."
        )
    return f"{text} {_sleep_instructions(run)}" if run.sleeps_until else text


def _sleep_instructions(run: RunFacts) -> str:
    if run.sleeps_until and not run.seconds_left:
        return f"The sleep ended at {run.sleeps_until}."
    until = f" until {run.sleeps_until}" if run.sleeps_until else ""
    seconds = min(run.seconds_left or WAIT_LIMIT_SECONDS, WAIT_LIMIT_SECONDS)
    return f"The run sleeps{until}, and nothing can be done before: wait with a command such as `sleep {seconds}`."
