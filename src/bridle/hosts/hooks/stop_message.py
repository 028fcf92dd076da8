"""What the Stop hook tells an agent that it holds, and the person who watches. Pure."""

from __future__ import annotations

from bridle.ground.light.abc_names import Sequence
from bridle.hosts.hooks.promise_tag import CLOSING, OPENING
from bridle.hosts.hooks.shell_quote import shell_word
from bridle.hosts.hooks.stop_rules import BREAKPOINT, RunFacts
from bridle.hosts.sessions.session import Session
from bridle.journal.format.state import COMPLETED, FAILED, WAITING

SLEEP = "sleep"
UNLIMITED = "unlimited"

# A person's words, even with a whole specification in them; more than this would fill an agent's memory at each stop.
PROMPT_LIMIT_CHARACTERS = 200_000


def block(
    session: Session, run: RunFacts, *, program: str, folder: str, prompt: str, found: Sequence[str]
) -> dict[str, str]:
    """The answer that holds a session; `session` is the one after this stop."""
    head = f"Bridle iteration {session.iteration}"
    context = _context(run, shell_word(program), shell_word(folder))
    if found:
        context += f" | At hand: {', '.join(found)}"
    if len(prompt) > PROMPT_LIMIT_CHARACTERS:
        prompt = prompt[:PROMPT_LIMIT_CHARACTERS] + " […]"
    limit = session.max_iterations or UNLIMITED
    return {
        "decision": "block",
        "reason": f"{head} | {context}\n\n{prompt}",
        "systemMessage": f"{head}/{limit} [{run.state}]",
    }


def _context(run: RunFacts, program: str, folder: str) -> str:
    iterate = f"{program} run:iterate {folder} --json"
    if run.state == COMPLETED:
        return (
            f"The run has completed. To end this session call `{program} run:status {folder} --json`, take the value"
            f" of its field completionProof, and say it between {OPENING} and {CLOSING} in your answer, and nowhere"
            " else."
        )
    if run.state == FAILED:
        return (
            f"The run has failed. `{program} run:events {folder} --limit 5 --reverse --json` tells why: mend the"
            f" process or what it stands on, then call `{iterate}`."
        )
    if run.state == WAITING:
        kinds = ", ".join(run.kinds)
        pending = f"`{program} task:list {folder} --pending --json`"
        return f"The run waits for: {kinds}. {_advice(run, pending, program, folder)} Then call `{iterate}`."
    return f"The run goes on when you call `{iterate}`."


def _advice(run: RunFacts, pending: str, program: str, folder: str) -> str:
    if set(run.kinds) == {SLEEP}:
        return "Nothing can be done before its moment has come: wait for it with a command such as `sleep 60`."
    post = f"post each result with `{program} task:post {folder} EFFECT --status ok --value FILE --json`"
    advice = f"{pending} lists what is pending: perform it and {post}."
    if BREAKPOINT in run.kinds:
        advice += (
            " A breakpoint is answered by the person alone: ask, and post the answer word for word."
            if run.is_interactive
            else " Nobody is there to answer a breakpoint: decide it by what its task says, and post your decision."
        )
    return advice
