"""May a session end? The rules of the Stop hook, as pure functions over what is known of session and run."""

from __future__ import annotations

from bridle.ground.light.abc_names import Sequence
from bridle.hosts.sessions.session import Session
from bridle.journal.format.state import COMPLETED, HALTED, WAITING

APPROVE = "approve"
BLOCK = "block"

# Why, as STOP_HOOK_INVOKED says it.
CONTINUE_LOOP = "continue_loop"
MAX_ITERATIONS_REACHED = "max_iterations_reached"
RUN_STATE_UNKNOWN = "run_state_unknown"
COMPLETION_PROOF_MATCHED = "completion_proof_matched"
BREAKPOINT_WAITING = "breakpoint_waiting"
SESSION_INACTIVE = "session_inactive"
NO_PROGRESS = "no_progress"

BREAKPOINT = "breakpoint"

# An agent that was held this often and did nothing that the run would notice will not do it the next time either.
NO_PROGRESS_STOPS = 50


class RunFacts:
    """What is known of the run that a session is bound to."""

    __slots__ = ("is_interactive", "kinds", "proof", "state", "stops")

    def __init__(
        self, *, state: str, kinds: Sequence[str] = (), stops: int = 0, proof: str = "", is_interactive: bool = True
    ) -> None:
        self.state = state
        self.kinds = tuple(kinds)
        """Of the effects that wait, in the order of their names."""
        self.stops = stops
        """How many stops the journal ends with, nothing else between them."""
        self.proof = proof
        """What shows that the run has completed."""
        self.is_interactive = is_interactive
        """Whether a person answers its breakpoints."""


class Verdict:
    """Whether the session may end, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @property
    def decision(self) -> str:
        return BLOCK if self.reason == CONTINUE_LOOP else APPROVE

    def applied(self, session: Session, now: str) -> Session:
        """The session afterwards: one iteration further, at its end, or as it was."""
        if self.reason == CONTINUE_LOOP:
            return session.advanced(now)
        # A person answers a breakpoint and the session goes on; an unknown run may be mended.
        is_over = self.reason not in (BREAKPOINT_WAITING, RUN_STATE_UNKNOWN)
        return session.changed(active=False) if is_over and session.active else session


def before_run(session: Session) -> Verdict | None:
    """What the session alone decides; None where its run must be looked at."""
    if not session.active:
        return Verdict(SESSION_INACTIVE)
    return Verdict(MAX_ITERATIONS_REACHED) if session.is_spent else None


def about_run(run: RunFacts, promises: Sequence[str], *, no_progress_stops: int = NO_PROGRESS_STOPS) -> Verdict:
    """What the run decides; `promises` are what the agent said in promise tags."""
    if run.state == COMPLETED and run.proof and run.proof in promises:
        return Verdict(COMPLETION_PROOF_MATCHED)
    if run.state == HALTED:
        return Verdict(SESSION_INACTIVE)  # ended for good: it has no proof and nothing to do
    if run.state == WAITING and run.is_interactive and set(run.kinds) == {BREAKPOINT}:
        return Verdict(BREAKPOINT_WAITING)
    if 0 < no_progress_stops <= run.stops + 1:  # this stop is the next in the row
        return Verdict(NO_PROGRESS)
    return Verdict(CONTINUE_LOOP)
