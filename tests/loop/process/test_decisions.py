"""The decisions of the loop, its bounds and its receipt, as functions of what is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.cli.user_interface.loop_runs import EXIT_CODES
from bridle.loop.control.runs import final_status
from bridle.loop.effect_results import CheckResult, SummarizeResult, WorkResult
from bridle.loop.plan.model import Plan
from bridle.loop.process import decisions
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.limit_checks import expected_cost, limit_reached
from bridle.loop.process.receipt import Receipt, build_receipt, verdict
from bridle.loop.process.task_state import ACCEPTED, VERIFIED, RunState, TaskState, Usage, Verdict
from bridle.loop.run_inputs import RunInputs
from bridle.loop.settings.limits import Limits
from bridle.loop.settings.model import Settings

PENDING, DONE, GUARD_ONLY, SATISFIED = Verdict.PENDING, Verdict.DONE, Verdict.GUARD_ONLY, Verdict.SATISFIED
UNVERIFIED, FAILED, STUCK, NEEDS_YOU = Verdict.UNVERIFIED, Verdict.FAILED, Verdict.STUCK, Verdict.NEEDS_YOU
BLOCKED = Verdict.BLOCKED
VERDICTS = tuple(Verdict)
PLAN = Plan("P", "", (), source="PLAN.md")
INPUTS = RunInputs("01RUN", "/repository", "abc", "bridle/01run", "main", PLAN, Settings())


def ledger(*tasks: TaskState) -> RunState:
    return RunState({task.title: task for task in tasks})


def result(command: str, exit_code: int, of: str = "task", output: str = "") -> CheckResult:
    return CheckResult(command=command, exit_code=exit_code, owner=of, output=output, seconds=0.1)


def title(task: TaskState | None) -> str | None:
    return None if task is None else task.title


def test_the_next_task_is_the_first_of_the_plan_that_is_open() -> None:
    assert title(decisions.next_task(ledger(TaskState("a", verdict=DONE), TaskState("b"), TaskState("c")))) == "b"


def test_the_smallest_priority_goes_first_and_equals_keep_their_order() -> None:
    assert title(decisions.next_task(ledger(TaskState("a", priority=2), TaskState("b", priority=1)))) == "b"
    assert title(decisions.next_task(ledger(TaskState("a", priority=1), TaskState("b", priority=1)))) == "a"


@pytest.mark.parametrize("before", VERDICTS)
def test_a_task_waits_for_those_it_needs(before: Verdict) -> None:
    book = ledger(TaskState("a", verdict=before), TaskState("b", needs=("a",)))
    expected = "b" if before in ACCEPTED else "a" if before == PENDING else None
    assert title(decisions.next_task(book)) == expected


@pytest.mark.parametrize("before", VERDICTS)
def test_only_what_can_never_be_begun_is_blocked(before: Verdict) -> None:
    book = ledger(TaskState("c", needs=("b",)), TaskState("b", needs=("a",)), TaskState("a", verdict=before))
    marked = {task.title for task in decisions.block(book)}
    assert marked == ({"b", "c"} if before in (FAILED, STUCK, BLOCKED) else set())
    assert {task.title for task in book.tasks.values() if task.verdict == BLOCKED and task.title != "a"} == marked


def test_what_waited_for_a_task_is_open_again_when_that_is_tried_again() -> None:
    book = ledger(TaskState("a", verdict=FAILED), TaskState("x", verdict=FAILED), TaskState("b", needs=("a",)))
    book.tasks["y"] = TaskState("y", needs=("x",))
    decisions.block(book)
    book.tasks["a"].verdict = PENDING
    decisions.unblock(book)
    assert {name: task.verdict for name, task in book.tasks.items()} == {
        "a": PENDING,
        "x": FAILED,
        "b": PENDING,
        "y": BLOCKED,
    }


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sets(st.integers(0, 5), max_size=3)), min_size=1, max_size=6))
def test_there_is_always_a_next_task_or_a_reason_for_none(tasks: list[tuple[Verdict, set[int]]]) -> None:
    """Needs point backwards, so that there are no rings."""
    book = ledger(
        *(
            TaskState(str(n), verdict=known, needs=tuple(str(m) for m in needs if m < n))
            for n, (known, needs) in enumerate(tasks)
        )
    )
    decisions.block(book)
    chosen = decisions.next_task(book)
    verdicts = {task.verdict for task in book.tasks.values()}
    if chosen is None:
        assert PENDING not in verdicts or NEEDS_YOU in verdicts
    else:
        assert chosen.verdict == PENDING
        assert all(book.tasks[need].verdict in ACCEPTED for need in chosen.needs)


def test_a_failure_is_distinguished_from_another_by_its_checks_and_its_tree() -> None:
    red = [result("a", 1), result("b", 0)]
    assert decisions.signature(red, "t") == decisions.signature([result("b", 0), result("a", 2)], "t")
    assert decisions.signature(red, "t") != decisions.signature(red, "u")
    assert decisions.signature(red, "t") != decisions.signature([result("a", 1), result("b", 1)], "t")


def test_stuck_is_the_same_failure_so_many_times_in_a_row() -> None:
    one, two = ("t", "a"), ("u", "a")
    assert not decisions.is_stuck([one, one], after=3)
    assert decisions.is_stuck([two, one, one, one], after=3)
    assert not decisions.is_stuck([one, one, two], after=3)
    assert not decisions.is_stuck([one, one, one, two], after=3)
    assert decisions.is_stuck([one, one], after=2)


def test_broken_tasks_are_those_of_others_and_each_is_named_once() -> None:
    results = [result("a", 1), result("g", 1, "guard"), result("x", 1, "X"), result("y", 2, "X"), result("z", 0, "Z")]
    assert decisions.broken_tasks(results) == ["X"]


def test_the_failure_for_the_next_prompt_holds_what_failed_and_nothing_else() -> None:
    text = decisions.failure_text([result("a", 1, output="BAD"), result("b", 0, output="GOOD")])
    assert text == "$ a\n(exit code 1)\nBAD"


def test_an_overloaded_endpoint_is_waited_for_from_five_seconds_to_five_minutes() -> None:
    assert [decisions.backoff_seconds(n) for n in range(8)] == [5, 10, 20, 40, 80, 160, 300, 300]
    assert decisions.backoff_seconds(5000) == 300


def spent(*costs: float) -> RunState:
    book = ledger(TaskState("a", usage=Usage(cost_usd=sum(costs))))
    book.iterations, book.iteration_costs = len(costs), list(costs)
    return book


def test_a_run_may_begin_within_its_bounds() -> None:
    assert limit_reached(Limits(), spent(), elapsed_seconds=0) is None


@pytest.mark.parametrize(
    ("limits", "elapsed", "said"),
    [
        (Limits(max_iterations=2), 0, "the limit of 2 iterations is reached"),
        (Limits(max_iterations=1), 0, "the limit of 1 iteration is reached"),
        (Limits(max_seconds=1), 1, "the time limit of 1 second is reached"),
        (Limits(max_seconds=60), 60, "the time limit of 60 seconds is reached"),
        (Limits(max_cost_usd=2), 0, "the cost limit is reached: 2.0000 of 2 USD spent"),
        (Limits(max_cost_usd=2.5), 0, "it would cost about 1.0000 USD"),
    ],
)
def test_each_bound_stops_the_next_iteration_and_is_named(limits: Limits, elapsed: float, said: str) -> None:
    assert said in str(limit_reached(limits, spent(1, 1), elapsed_seconds=elapsed))


def test_the_last_iteration_may_use_up_the_bound_exactly() -> None:
    assert limit_reached(Limits(max_cost_usd=3, max_iterations=3), spent(1, 1), elapsed_seconds=0) is None


def test_the_next_iteration_is_taken_to_cost_what_the_dearest_of_the_last_three_did() -> None:
    assert expected_cost(spent()) == 0
    assert expected_cost(spent(9, 1, 3, 2)) == 3


def test_other_bounds_change_only_what_they_name() -> None:
    assert Limits(tries=2).changed({"max_iterations": 7, "tries": None, "foreign": 1}) == Limits(2 + 5, tries=2)


def test_bounds_are_shown_in_words() -> None:
    assert Limits().describe() == "at most 50 iterations, 5 tries a task, 8 hours, 20 USD"
    one = Limits(max_iterations=1, tries=1, max_seconds=3600.0, max_cost_usd=0.5)
    assert one.describe() == "at most 1 iteration, 1 try a task, 1 hour, 0.5 USD"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((5400, "90 minutes"), (600, "10 minutes"), (60, "1 minute"), (7200, "2 hours")),
        *((90, "90 seconds"), (1, "1 second"), (0.5, "0.5 seconds")),
    ],
)
def test_a_bound_of_time_is_shown_in_the_largest_whole_unit(seconds: float, words: str) -> None:
    assert f", {words}, " in Limits(max_seconds=seconds).describe()


@pytest.mark.parametrize(
    ("verdicts", "word", "code"),
    [
        ((DONE, GUARD_ONLY, SATISFIED), DONE, 0),
        ((DONE, UNVERIFIED), UNVERIFIED, 1),
        ((DONE, FAILED), FAILED, 1),
        ((STUCK, PENDING), FAILED, 1),
        ((BLOCKED,), FAILED, 1),
        ((DONE, PENDING), PENDING, 1),
        ((FAILED, NEEDS_YOU), NEEDS_YOU, 4),
    ],
)
def test_the_whole_is_as_bad_as_its_worst_task(verdicts: tuple[Verdict, ...], word: str, code: int) -> None:
    book = ledger(*(TaskState(str(n), verdict=one) for n, one in enumerate(verdicts)))
    assert verdict(list(book.tasks.values())) == word
    assert EXIT_CODES[final_status(build_receipt(INPUTS, book, Limits(), time=ActiveTime()))] == code


def test_a_receipt_adds_up_what_was_spent_and_what_of_it_was_wasted() -> None:
    book = ledger(
        TaskState(
            "a",
            verdict=DONE,
            commit="c1",
            usage=Usage(0.5, 0, 10, 1, 2.0),
            verified=Usage(0.375),
            checks=(result("t", 0),),
        ),
        TaskState("b", verdict=FAILED, usage=Usage(0.25, 0, 5, 2, 1.0)),
    )
    book.overhead.add(Usage.of(SummarizeResult.from_json({"cost_usd": 0.125, "input_tokens": 1, "seconds": None})))
    document = build_receipt(INPUTS, book, Limits(), time=ActiveTime()).as_json()
    assert (document["cost_usd"], document["verified_usd"], document["wasted_usd"]) == (0.875, 0.375, 0.5)
    assert [task["wasted_usd"] for task in document["tasks"]] == [0.125, 0.25]
    assert (document["input_tokens"], document["output_tokens"]) == (16, 3)
    assert document["commits"] == ["c1"]
    seen = {"command": "t", "of": "task", "exit_code": 0, "seconds": 0.1, "output": "", "excerpt": "", "log": ""}
    assert document["tasks"][0]["checks"] == [seen]
    assert document["resume"] == "bridle resume 01RUN"
    assert document["undo"] == "bridle undo 01RUN"
    assert "effect" not in document["tasks"][0]


def test_a_sum_with_an_unknown_part_is_unknown_and_its_known_part_is_beside_it() -> None:
    unknown = Usage.of(WorkResult.from_json({"cost_usd": None, "known_cost_usd": 0.25}))
    book = ledger(
        TaskState("a", verdict=DONE, usage=Usage(0.5), verified=Usage(0.5)),
        TaskState("b", verdict=DONE, usage=unknown, verified=unknown),
        TaskState("c", verdict=FAILED, usage=Usage(0.125)),
    )
    document = build_receipt(INPUTS, book, Limits(), time=ActiveTime()).as_json()
    assert (document["cost_usd"], document["known_cost_usd"]) == (None, 0.875)
    assert (document["verified_usd"], document["wasted_usd"]) == (None, 0.125)
    costs = [(task["cost_usd"], task["known_cost_usd"], task["wasted_usd"]) for task in document["tasks"]]
    assert costs == [(0.5, 0.5, 0.0), (None, 0.25, 0.0), (0.125, 0.125, 0.125)]
    assert Receipt.from_json(document).as_json() == document


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.integers(0, 1000)), min_size=1))
def test_verified_and_wasted_work_are_the_whole_cost(tasks: list[tuple[Verdict, int]]) -> None:
    book = ledger(
        *(
            TaskState(
                str(n), verdict=v, usage=Usage(cents / 100), verified=Usage(cents / 200 if v in VERIFIED else 0.0)
            )
            for n, (v, cents) in enumerate(tasks)
        )
    )
    document = build_receipt(INPUTS, book, Limits(), time=ActiveTime()).as_json()
    assert document["wasted_usd"] + document["verified_usd"] == pytest.approx(document["cost_usd"])
    worth = sum(task["cost_usd"] - task["wasted_usd"] for task in document["tasks"] if task["verdict"] in VERIFIED)
    assert document["verified_usd"] == pytest.approx(worth)
