"""Which worker does what, and what is counted for all of them together."""

from __future__ import annotations

from pathlib import Path

from bridle.ground import ids
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from bridle.loop.effect_results import CopyResult
from bridle.loop.effects import CopyState
from bridle.loop.process.limit_checks import limit_reached
from bridle.loop.process.task_state import RunState, TaskState, Verdict
from bridle.loop.process.workers import Workers
from bridle.loop.settings.limits import Limits


def crew(parallel: int = 2, *, has_worktree: bool = False) -> Workers:
    return Workers(parallel=parallel, has_worktree=has_worktree, base="b" * 40)


def ledger(*tasks: TaskState) -> RunState:
    return RunState({task.title: task for task in tasks})


def test_no_two_workers_have_the_same_task_and_each_goes_on_with_its_own() -> None:
    here, book = crew(), ledger(TaskState("One"), TaskState("Two"), TaskState("Three"))
    first, second = here.all
    for slot, title in ((first, "One"), (second, "Two")):
        task = here.next_task(slot, book)
        assert task is not None
        assert task.title == title
        here.assign(slot, task)
    assert here.next_task(second, book) is book.tasks["Two"]
    book.tasks["Two"].verdict = Verdict.DONE
    here.release(book.tasks["Two"])
    assert here.next_task(second, book) is book.tasks["Three"]


def test_a_task_that_was_answered_goes_on_with_the_worker_that_has_its_conversation() -> None:
    here, book = crew(), ledger(TaskState("One"), TaskState("Two"))
    first, second = here.all
    here.assign(first, book.tasks["One"])
    book.tasks["One"].verdict = Verdict.NEEDS_YOU
    here.free_copy(book.tasks["One"])
    assert here.next_task(first, book) is book.tasks["Two"]
    here.assign(first, book.tasks["Two"])
    book.tasks["One"].verdict = Verdict.PENDING
    assert here.next_task(second, book) is None
    book.tasks["Two"].verdict = Verdict.DONE
    here.release(book.tasks["Two"])
    assert here.next_task(second, book) is None
    assert here.next_task(first, book) is book.tasks["One"]


def test_a_plain_run_tells_its_effects_nothing_of_copies() -> None:
    here, task = crew(1), TaskState("One")
    here.assign(here.all[0], task)
    assert here.copy_of(task) == (None, None)
    assert here.run_copy() is None


def test_an_effect_names_the_state_of_its_copy_in_case_it_must_be_made_anew() -> None:
    here, task = crew(1, has_worktree=True), TaskState("One")
    here.assign(here.all[0], task)
    here.update_copy(task, CopyResult(tree="t" * 40))
    assert here.copy_of(task) == (None, CopyState(head="b" * 40, tree="t" * 40))
    here.update_copy(task, CopyResult(head="c" * 40, tree="u" * 40))
    assert here.copy_of(task) == (None, CopyState(head="c" * 40, tree="u" * 40))
    side_by_side = crew()
    side_by_side.assign(side_by_side.all[1], task)
    assert side_by_side.copy_of(task)[0] == 2
    assert side_by_side.run_copy() == CopyState(head="b" * 40)


def test_only_what_was_there_when_a_copy_was_taken_has_arrived_in_it() -> None:
    here, task = crew(), TaskState("One")
    here.assign(here.all[0], task)
    here.all[0].landed = 1
    assert here.has_work_of(TaskState("Two", landed=1), task)
    assert not here.has_work_of(TaskState("Three", landed=2), task)


def test_iterations_under_way_are_taken_to_cost_as_much_as_the_next() -> None:
    book = ledger(TaskState("One"))
    book.tasks["One"].usage.cost_usd = 1.0
    book.iteration_costs += [1.0]
    bounds = Limits(max_cost_usd=3.0)
    assert limit_reached(bounds, book, elapsed_seconds=0, running=1) is None
    assert limit_reached(bounds, book, elapsed_seconds=0, running=2) is not None


def test_a_hint_is_for_the_first_worker_that_asks_and_a_task_to_try_again_is_reported_with_its_place(
    tmp_path: Path,
) -> None:
    new = NewRun(run_id="01j", process_id="p", entry=Path("process.py"), has_inputs=True, inputs={})
    store = FileStore(create_run(tmp_path, new, proof="p", ulid=ids.new_id(), created_at="2026-11-15T10:00:00Z"))
    user_messages.send(store, user_messages.HINT, {"text": "slowly"})
    user_messages.send(store, user_messages.RETRY, {"task": "One"})
    heard = user_messages.UserMessageReader(store)
    first, second = heard.since(0), heard.since(0)
    assert (first.hints, second.hints) == (("slowly",), ())
    assert first.retries == second.retries == ("One",)
    assert first.retries_at == second.retries_at == (first.after,)
