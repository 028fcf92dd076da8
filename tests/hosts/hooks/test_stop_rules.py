"""The rules of the Stop hook alone: from what is known to a verdict, and from a verdict to the session afterwards."""

from __future__ import annotations

import pytest

from bridle.hosts.hooks.stop_rules import (
    APPROVE,
    BLOCK,
    BREAKPOINT_WAITING,
    COMPLETION_PROOF_MATCHED,
    CONTINUE_LOOP,
    MAX_ITERATIONS_REACHED,
    NO_PROGRESS,
    RUN_STATE_UNKNOWN,
    SESSION_INACTIVE,
    RunFacts,
    Verdict,
    about_run,
    before_run,
)
from bridle.hosts.sessions.session import Session

NOW = "2026-11-15T10:00:00Z"
BEFORE = "2026-11-15T09:59:15Z"


def session(**fields: object) -> Session:
    return Session(**{"active": True, "iteration": 3, "run_id": "r", "last_iteration_at": BEFORE, **fields})  # type: ignore[arg-type]  # the fields of a session


BEFORE_RUN = [
    (session(), None),
    (session(active=False), SESSION_INACTIVE),
    (session(max_iterations=3), MAX_ITERATIONS_REACHED),
    (session(max_iterations=2), MAX_ITERATIONS_REACHED),
    (session(max_iterations=4), None),
    (session(max_iterations=0, iteration=10**9), None),
    (session(active=False, max_iterations=1), SESSION_INACTIVE),
]


@pytest.mark.parametrize(("known", "reason"), BEFORE_RUN)
def test_what_the_session_alone_decides(known: Session, reason: str | None) -> None:
    verdict = before_run(known)
    assert (verdict.reason if verdict is not None else None) == reason


ABOUT_RUN = [
    (RunFacts(state="created"), (), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["agent"]), (), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["breakpoint"]), (), BREAKPOINT_WAITING),
    (RunFacts(state="waiting", kinds=["breakpoint"], is_interactive=False), (), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["breakpoint", "sleep"]), (), CONTINUE_LOOP),
    (RunFacts(state="failed", kinds=["breakpoint"]), (), CONTINUE_LOOP),
    (RunFacts(state="halted"), (), SESSION_INACTIVE),
    (RunFacts(state="halted", proof="p"), ("p",), SESSION_INACTIVE),
    (RunFacts(state="completed", proof="p"), (), CONTINUE_LOOP),
    (RunFacts(state="completed", proof="p"), ("q",), CONTINUE_LOOP),
    (RunFacts(state="completed", proof="p"), ("q", "p"), COMPLETION_PROOF_MATCHED),
    (RunFacts(state="completed", proof=""), ("",), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["agent"], proof="p"), ("p",), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["agent"], stops=48), (), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["agent"], stops=49), (), NO_PROGRESS),
    (RunFacts(state="created", stops=500), (), NO_PROGRESS),
    (RunFacts(state="waiting", kinds=["sleep"], stops=500, sleeps_until=NOW, seconds_left=1), (), CONTINUE_LOOP),
    (RunFacts(state="waiting", kinds=["sleep"], stops=500, sleeps_until=NOW), (), NO_PROGRESS),
    (RunFacts(state="completed", proof="p", stops=500), ("p",), COMPLETION_PROOF_MATCHED),
    (RunFacts(state="waiting", kinds=["breakpoint"], stops=500), (), BREAKPOINT_WAITING),
]


@pytest.mark.parametrize(("run", "promises", "reason"), ABOUT_RUN)
def test_what_the_run_decides(run: RunFacts, promises: tuple[str, ...], reason: str) -> None:
    verdict = about_run(run, promises)
    assert (verdict.reason, verdict.decision) == (reason, BLOCK if reason == CONTINUE_LOOP else APPROVE)


def test_who_sets_no_limit_is_never_let_go_for_want_of_progress() -> None:
    run = RunFacts(state="created", stops=10**6)
    assert about_run(run, (), no_progress_stops=0).reason == CONTINUE_LOOP


def values(known: Session) -> tuple[object, ...]:
    return tuple(getattr(known, name) for name in Session.__slots__)


def test_a_session_that_is_held_is_one_iteration_further() -> None:
    after = Verdict(CONTINUE_LOOP).applied(session(iteration_times=(1, 2, 3)), NOW)
    wanted = session(iteration=4, iteration_times=(2, 3, 45), last_iteration_at=NOW)
    assert values(after) == values(wanted)


@pytest.mark.parametrize("reason", [MAX_ITERATIONS_REACHED, COMPLETION_PROOF_MATCHED, NO_PROGRESS, SESSION_INACTIVE])
def test_a_session_that_is_over_is_marked_so_and_otherwise_as_it_was(reason: str) -> None:
    assert values(Verdict(reason).applied(session(), NOW)) == values(session(active=False))


@pytest.mark.parametrize("reason", [BREAKPOINT_WAITING, RUN_STATE_UNKNOWN])
def test_a_session_that_goes_on_later_stays_the_very_same(reason: str) -> None:
    known = session()
    assert Verdict(reason).applied(known, NOW) is known


def test_a_session_that_is_inactive_already_stays_the_very_same() -> None:
    known = session(active=False)
    assert Verdict(SESSION_INACTIVE).applied(known, NOW) is known
