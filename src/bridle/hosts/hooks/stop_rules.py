"""The rules of the Stop hook, as pure functions of session and run."""

from __future__ import annotations

from bridle.ground.light.abc_names import Sequence
from bridle.hosts.sessions.session import Session
from bridle.journal.format.state import COMPLETED, HALTED, WAITING

APPROVE = "approve"
BLOCK = "block"

# The reasons that STOP_HOOK_INVOKED records.
CONTINUE_LOOP = "continue_loop"
MAX_ITERATIONS_REACHED = "max_iterations_reached"
RUN_STATE_UNKNOWN = "run_state_unknown"
COMPLETION_PROOF_MATCHED = "completion_proof_matched"
BREAKPOINT_WAITING = "breakpoint_waiting"
SESSION_INACTIVE = "session_inactive"
NO_PROGRESS = "no_progress"

BREAKPOINT = "breakpoint"
SLEEP = "sleep"

# The promise tag, in which an agent prints the completion proof of its run.
OPENING = "<promise>"
CLOSING = "</promise>"

# An agent that was blocked this often without a new journal entry will not make progress at the next stop either.
NO_PROGRESS_STOPS = 50


class RunFacts:
    """The state of the run that a session is bound to."""

    __slots__ = ("is_interactive", "kinds", "proof", "seconds_left", "sleeps_until", "state", "stops")

    def __init__(
        self,
        *,
        state: str,
        kinds: Sequence[str] = (),
        stops: int = 0,
        proof: str = "",
        is_interactive: bool = True,
        sleeps_until: str = "",
        seconds_left: int = 0,
    ) -> None:
        self.state = state
        self.kinds = tuple(kinds)
        """The kinds of the pending effects, sorted."""
        self.stops = stops
        """How many stops the journal ends with, without another entry between them and after the end of a sleep."""
        self.proof = proof
        """The proof that the run has completed."""
        self.is_interactive = is_interactive
        """Whether a user answers the breakpoints."""
        self.sleeps_until = sleeps_until
        """When the run's sleep ends, if the agent can only wait for it; empty otherwise."""
        self.seconds_left = seconds_left
        """The rest of that sleep; 0 if its time has come."""


class Verdict:
    """Whether the session may stop, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @property
    def decision(self) -> str:
        return BLOCK if self.reason == CONTINUE_LOOP else APPROVE

    def applied(self, session: Session, now: str) -> Session:
        """Return the session after the stop: one iteration later, inactive, or the same."""
        if self.reason == CONTINUE_LOOP:
            return session.advanced(now)
        # The session continues once the user has answered the breakpoint, or the run can be read again.
        is_over = self.reason not in (BREAKPOINT_WAITING, RUN_STATE_UNKNOWN)
        return session.changed(active=False) if is_over and session.active else session


def before_run(session: Session) -> Verdict | None:
    """Return the verdict of the session alone; None if the run decides."""
    if not session.active:
        return Verdict(SESSION_INACTIVE)
    return Verdict(MAX_ITERATIONS_REACHED) if session.is_spent else None


def about_run(run: RunFacts, promises: Sequence[str], *, no_progress_stops: int = NO_PROGRESS_STOPS) -> Verdict:
    """Return the verdict of the run; `promises` are the contents of the agent's promise tags."""
    if run.state == COMPLETED and run.proof and run.proof in promises:
        return Verdict(COMPLETION_PROOF_MATCHED)
    if run.state == HALTED:
        return Verdict(SESSION_INACTIVE)  # final, and without a proof
    if run.state == WAITING and run.is_interactive and set(run.kinds) == {BREAKPOINT}:
        return Verdict(BREAKPOINT_WAITING)
    # This stop counts too, but not while the run sleeps: no agent could make progress then.
    if not run.seconds_left and 0 < no_progress_stops <= run.stops + 1:
        return Verdict(NO_PROGRESS)
    return Verdict(CONTINUE_LOOP)


def waits_for_sleep(kinds: Sequence[str], *, is_interactive: bool) -> bool:
    """Return whether an agent can only wait for a sleep; the user answers the breakpoints of an interactive run."""
    return SLEEP in kinds and all(kind == SLEEP or (is_interactive and kind == BREAKPOINT) for kind in kinds)


def promise_in(text: str) -> str | None:
    """Return the content of the first complete promise tag, its white space collapsed, or None."""
    start = text.find(OPENING)
    end = text.find(CLOSING, start + len(OPENING)) if start >= 0 else -1
    return " ".join(text[start + len(OPENING) : end].split()) if end >= 0 else None
