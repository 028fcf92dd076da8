"""What the loop decides, with results that the test posts: time, limits, agents that fall over, what was wasted."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bridle.ground import clock
from bridle.loop import effect_results, effects, user_messages
from bridle.loop.control.pauses import deliver_user_messages
from tests.engine.fixtures.iterated_runs import task_of
from tests.loop.fixtures.run_on_engine import GREEN, RED, RunOnEngine

ONE = "# One\n\n## One\nCheck: `test -f one`\n"
TWO = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
HOUR = timedelta(hours=1)


def sleeping(run: RunOnEngine) -> datetime:
    (action,) = run.pending()
    assert action.effect.kind == "sleep", action.effect.kind
    sleep: Any = action.task.document["sleep"]
    return datetime.fromisoformat(sleep["iso"])


def skip(run: RunOnEngine) -> None:
    """As the key does."""
    run.post("sleep", None)


def test_a_night_without_a_driver_uses_up_none_of_its_time(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, TWO, max_seconds=3600.0)
    run.now += timedelta(minutes=10)
    run.post_checks(RED)
    run.work()
    run.finish_iteration(GREEN)
    run.now += 12 * HOUR
    run.driver = clock.iso(run.now)
    run.now += timedelta(minutes=5)
    run.post_checks(RED)
    assert run.arguments_of(effects.WORK)["task"] == "Two"
    assert run.receipt()["seconds"] == 900


def test_time_that_was_driven_is_used_up(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, TWO, max_seconds=3600.0)
    run.post_checks(RED)
    run.now += HOUR
    run.work()
    run.finish_iteration(GREEN)
    paused = run.arguments_of(effects.PAUSE)
    assert (paused["why"], paused["exit_code"]) == (effects.WHY_LIMIT, 3)
    assert paused["receipt"]["seconds"] == 3600


def test_what_red_iterations_cost_is_wasted_also_where_the_task_is_done_in_the_end(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work()
    run.finish_iteration(RED)
    run.work(cost_usd=0.5, tree="u")
    run.finish_iteration(GREEN)
    document = run.receipt()
    assert (document["cost_usd"], document["verified_usd"], document["wasted_usd"]) == (0.75, 0.5, 0.25)
    (task,) = document["tasks"]
    assert (task["verdict"], task["cost_usd"], task["wasted_usd"]) == ("done", 0.75, 0.25)


def test_unverified_work_is_no_verified_work(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nMake it.\n")
    run.work()
    run.post(effects.PROTECT, {"changed": True})
    run.post(effects.COMMIT, {"commit": "c" * 40, "tree": "t"})
    document = run.receipt()
    assert (document["verified_usd"], document["wasted_usd"]) == (0.0, 0.25)


def limit(run: RunOnEngine, after: timedelta) -> dict[str, Any]:
    return {"resets_at": clock.iso(run.now + after), "changed": False}


def test_the_second_agent_works_until_the_first_one_is_free_again(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, TWO, agents=("claude", "codex"), tries=9)
    run.post_checks(RED)
    run.work(effect_results.LIMIT, agent="claude", **limit(run, HOUR))
    run.work(agent="codex")
    run.finish_iteration(RED)
    run.pending()
    run.now += HOUR + timedelta(minutes=1)
    run.work(agent="codex", tree="u")  # asked for before the hour was over
    run.finish_iteration(RED)
    assert run.arguments_of(effects.WORK)["agent"] == "claude"
    (task, _) = run.receipt()["tasks"]
    assert task["tries"] == 2


def test_where_both_are_at_their_limit_the_earlier_reset_is_waited_for(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, agents=("claude", "codex"))
    run.post_checks(RED)
    run.work(effect_results.LIMIT, agent="claude", **limit(run, 5 * HOUR))
    run.work(effect_results.LIMIT, agent="codex", **limit(run, HOUR))
    until = sleeping(run)
    assert until == run.now + HOUR + timedelta(seconds=10)
    run.now = until
    assert run.arguments_of(effects.WORK)["agent"] == "codex"


def test_a_wait_that_is_cut_short_asks_the_agent_at_once(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(effect_results.LIMIT, **limit(run, 5 * HOUR))
    sleeping(run)
    skip(run)
    assert run.arguments_of(effects.WORK)["iteration"] == 2


def test_a_wait_keeps_its_end_across_every_resume(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(effect_results.LIMIT, **limit(run, 5 * HOUR))
    until = sleeping(run)
    run.now += 3 * HOUR
    assert sleeping(run) == until


def test_a_limit_that_outlasts_the_run_pauses_it_and_later_it_goes_on_with_the_time_it_has_left(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, max_seconds=3600.0)
    run.now += timedelta(minutes=10)
    run.post_checks(RED)
    run.work(effect_results.LIMIT, **limit(run, HOUR))
    paused = run.arguments_of(effects.PAUSE)
    assert (paused["why"], paused["exit_code"]) == (effects.WHY_USAGE, 3)
    assert paused["reason"].endswith("in 1:00:10, but the run has only 0:50:00 left; resume it after that")
    run.now += 2 * HOUR
    run.driver = clock.iso(run.now)
    run.post(effects.PAUSE, {})
    assert run.arguments_of(effects.WORK)["iteration"] == 2
    assert run.receipt()["seconds"] == 600


def test_who_goes_on_before_the_limit_is_lifted_is_believed_and_with_more_time_it_is_waited_for(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, max_seconds=3600.0)
    run.post_checks(RED)
    run.work(effect_results.LIMIT, **limit(run, HOUR))
    run.arguments_of(effects.PAUSE)
    run.post(effects.PAUSE, {})
    run.work(effect_results.LIMIT, iteration=2, **limit(run, HOUR))
    run.arguments_of(effects.PAUSE)
    run.post(effects.PAUSE, {"limits": {"max_seconds": 7200.0}})
    run.work(effect_results.LIMIT, iteration=3, **limit(run, HOUR))
    assert sleeping(run) == run.now + HOUR + timedelta(seconds=10)


def test_an_agent_that_cannot_be_used_leaves_the_work_to_the_next_and_pauses_where_it_is_the_last(
    tmp_path: Path,
) -> None:
    run = RunOnEngine(tmp_path, ONE, agents=("claude", "codex"))
    run.post_checks(RED)
    run.work(effect_results.UNUSABLE, agent="claude", said="not logged in; run claude once", changed=False)
    run.work(effect_results.UNUSABLE, agent="codex", said="no key; set one", changed=False)
    paused = run.arguments_of(effects.PAUSE)
    assert (paused["why"], paused["exit_code"]) == (effects.WHY_UNUSABLE, 5)
    assert "not logged in; run claude once" in paused["reason"]
    assert "no key; set one" in paused["reason"]
    run.post(effects.PAUSE, {})
    assert run.arguments_of(effects.WORK)["agent"] == "claude"
    assert run.receipt()["tasks"][0]["tries"] == 0


def test_an_agent_that_cannot_be_used_costs_no_iteration(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, max_iterations=1)
    run.post_checks(RED)
    for _ in range(2):
        run.work(effect_results.UNUSABLE, said="not logged in", changed=False)
        assert run.arguments_of(effects.PAUSE)["exit_code"] == 5
        run.post(effects.PAUSE, {})
    run.work()
    run.finish_iteration(GREEN)
    document = run.receipt()
    assert (document["verdict"], document["iterations"], document["tasks"][0]["iterations"]) == ("done", 1, 1)


def test_an_overloaded_endpoint_is_waited_for_longer_each_time(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    seconds = []
    for _ in range(4):
        run.work(effect_results.TRANSIENT, changed=False)
        until = sleeping(run)
        seconds.append((until - run.now).total_seconds())
        run.now = until
    assert seconds == [5, 10, 20, 40]
    assert run.receipt()["tasks"][0]["tries"] == 0


def test_a_bound_that_was_given_during_the_last_iteration_takes_effect_where_it_would_pause(
    tmp_path: Path,
) -> None:
    run = RunOnEngine(tmp_path, TWO, max_iterations=1)
    run.post_checks(RED)
    run.pending()
    user_messages.send(run.store, user_messages.HINT, {"text": "MIND"})
    run.work()  # has not heard of it: whoever performed it had begun before
    run.finish_iteration(GREEN)
    assert run.arguments_of(effects.PAUSE)["why"] == effects.WHY_LIMIT
    assert deliver_user_messages(run.store) is False
    user_messages.send(run.store, user_messages.LIMITS, {"max_iterations": 2})
    assert deliver_user_messages(run.store) is True
    run.post_checks(RED)
    asked = run.arguments_of(effects.WORK)
    assert (asked["task"], asked["hints"]) == ("Two", ["MIND"])


def test_a_task_to_be_tried_again_is_noticed_where_no_other_is_left(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, tries=1)
    run.post_checks(RED)
    run.work()
    run.finish_iteration(RED)
    assert run.arguments_of(effects.PAUSE)["why"] == effects.WHY_ENDED
    user_messages.send(run.store, user_messages.RETRY, {"task": "One"})
    assert deliver_user_messages(run.store) is True
    assert run.arguments_of(effects.WORK)["iteration"] == 2


def test_the_work_of_a_task_that_asks_is_set_aside_while_others_go_on(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, TWO)
    run.post_checks(RED)
    run.work(effect_results.QUESTION, question="Which?", session_id="s1", snapshot="snap-1")
    run.post(effects.PROTECT, {"changed": True})
    actions = {action.effect.kind: action for action in run.pending()}
    assert set(actions) == {"breakpoint", effects.ROLLBACK}
    assert task_of(actions[effects.ROLLBACK])["inputs"]["snapshot"] == "snap-1"


def test_a_task_that_fails_is_not_rolled_back_to_before_the_commit_of_another(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, TWO, tries=1)
    run.post_checks(RED)
    run.work(effect_results.QUESTION, question="Which?", session_id="s1", snapshot="snap-1")
    run.post(effects.PROTECT, {"changed": True})
    run.post(effects.ROLLBACK, {"kept": "kept-1"}, beside="breakpoint")
    run.post("breakpoint", {"response": "green", "approved": True}, beside=effects.CHECK)
    run.post_checks(RED)
    run.work(snapshot="snap-2")
    run.finish_iteration(GREEN)
    run.work(snapshot="snap-3", tree="u")
    run.post(effects.PROTECT, {"changed": True, "undone": [], "reported": []})
    own, other = run.arguments_of(effects.CHECK)["checks"]
    results = [{**own, "exit_code": RED, "seconds": 0.1}, {**other, "exit_code": GREEN, "seconds": 0.1}]
    run.post(effects.CHECK, {"tree": "u", "passed": False, "results": results})
    rolled_back = run.arguments_of(effects.ROLLBACK)
    assert (rolled_back["task"], rolled_back["snapshot"]) == ("One", "snap-3")
    assert "failed after its only try" in rolled_back["why"]


def test_the_work_of_the_last_task_stays_where_it_is_while_it_asks(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(effect_results.QUESTION, question="Which?", session_id="s1", snapshot="snap-1")
    run.post(effects.PROTECT, {"changed": True})
    assert [action.effect.kind for action in run.pending()] == ["breakpoint"]


def test_a_conversation_is_gone_on_with_only_by_its_own_agent(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, agents=("claude", "codex"))
    run.post_checks(RED)
    run.work(effect_results.LIMIT, agent="claude", **limit(run, HOUR))
    run.work(effect_results.QUESTION, agent="codex", question="Which?", session_id="s1", changed=False)
    run.now += 2 * HOUR
    run.post("breakpoint", {"response": "green", "approved": True})
    asked = run.arguments_of(effects.WORK)
    assert (asked["agent"], asked["session_id"], asked["asked"], asked["answer"]) == ("claude", None, "Which?", "green")


def test_what_an_agent_at_its_limit_received_is_passed_to_the_next_one(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, agents=("claude", "codex"))
    run.post_checks(RED)
    run.work(effect_results.QUESTION, question="Which?", session_id="s1", changed=False)
    run.post("breakpoint", {"response": "green", "approved": True})
    assert run.arguments_of(effects.WORK)["answer"] == "green"
    run.work(
        effect_results.LIMIT, **limit(run, HOUR), news={"after": 9, "hints": ["MIND"], "retries": [], "limits": {}}
    )
    asked = run.arguments_of(effects.WORK)
    assert (asked["agent"], asked["answer"], asked["hints"]) == ("codex", "green", ["MIND"])
    run.work(effect_results.TRANSIENT, changed=False)
    run.now = sleeping(run)
    asked = run.arguments_of(effects.WORK)
    assert (asked["answer"], asked["hints"]) == ("green", ["MIND"])
    run.work()
    run.finish_iteration(RED)
    asked = run.arguments_of(effects.WORK)
    assert (asked["answer"], asked.get("hints")) == (None, None)


def test_a_refused_tool_call_is_passed_to_the_next_agent_and_is_in_the_receipt(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(denials=["Bash: curl"])
    run.finish_iteration(RED)
    assert run.arguments_of(effects.WORK)["notes"] == ["A tool call was denied: Bash: curl"]
    run.work(tree="u", denials=["Bash: curl"])
    run.finish_iteration(GREEN)  # a denial alone fails nothing
    (task,) = run.receipt()["tasks"]
    assert (task["verdict"], task["denials"]) == ("done", ["Bash: curl"])


def test_overloads_cost_no_iteration(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, max_iterations=1)
    run.post_checks(RED)
    run.work(effect_results.TRANSIENT, changed=False)
    skip(run)
    run.work(effect_results.TRANSIENT, changed=False)
    skip(run)
    assert run.arguments_of(effects.WORK)["iteration"] == 3
    run.work()
    run.finish_iteration(GREEN)
    document = run.receipt()
    assert (document["verdict"], document["iterations"], document["tasks"][0]["iterations"]) == ("done", 1, 1)


def test_a_section_of_a_prompt_that_was_cut_is_in_the_receipt(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    cut = {"section": "AGENTS.md", "characters": 30000, "kept": 12000}
    run.work(cut=[cut])
    run.finish_iteration(GREEN)
    assert run.receipt()["tasks"][0]["cut"] == [{"iteration": 1, **cut}]


def test_an_agent_that_changed_nothing_has_not_done_a_task_without_checks_of_its_own(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\nChecks: `true`\n\n## One\nDo it.\n")
    run.work(changed=False, done=True)
    run.post(effects.PROTECT, {"changed": False, "undone": [], "reported": []})
    run.post_checks(GREEN)
    (task,) = run.receipt()["tasks"]
    assert (task["verdict"], task["tries"]) == ("pending", 1)
    assert task["reason"] == "the guard passes, but the agent changed nothing"


def test_a_task_whose_checks_pass_before_any_work_is_satisfied_in_a_parallel_run_too(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, parallel=2)
    run.post(effects.PREPARE_COPY, {"head": run.arguments_of(effects.PREPARE_COPY)["tip"], "tree": "t"})
    run.post_checks(GREEN)
    assert run.pending() == []
    assert run.receipt()["tasks"][0]["verdict"] == "already satisfied"


def test_a_parallel_run_pauses_where_the_setup_of_a_copy_fails(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, parallel=2)
    setup = {"command": "make deps", "of": "setup", "exit_code": 2, "seconds": 0.1, "output": "no network"}
    run.post(effects.PREPARE_COPY, {"head": "0" * 40, "tree": "t", "setup": setup})
    paused = run.arguments_of(effects.PAUSE)
    assert paused["why"] == effects.WHY_SETUP
    assert "make deps" in paused["reason"]


def test_the_checks_run_after_an_agent_that_changed_nothing_where_the_files_are_newer(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(changed=False)
    assert run.receipt()["tasks"][0]["reason"] == "the agent changed nothing"
    changes = {"number": 1, "before": "0" * 40, "tip": "0" * 40, "lines": ["one was changed"]}
    run.work(changed=False, user_changes=changes)
    run.post(effects.PROTECT, {"changed": False})
    run.post_checks(RED)
    run.work(changed=False)
    assert run.arguments_of(effects.PAUSE)["why"] == effects.WHY_ENDED
    user_messages.send(run.store, user_messages.RETRY, {"task": "One"})
    assert deliver_user_messages(run.store) is True
    run.work(changed=False)
    run.post(effects.PROTECT, {"changed": False})
    run.post_checks(GREEN)
    run.post(effects.COMMIT, {"commit": None, "tree": "t"})
    (task,) = run.receipt()["tasks"]
    assert (task["verdict"], task["reason"]) == ("done", "its checks passed; the agent changed nothing")


def test_a_task_fails_with_the_last_of_its_tries(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE, tries=2)
    run.post_checks(RED)
    for tree in ("t1", "t2"):
        run.work(tree=tree)
        run.finish_iteration(RED)
    assert run.arguments_of(effects.PAUSE)["why"] == effects.WHY_ENDED
    (task,) = run.receipt()["tasks"]
    assert (task["verdict"], task["tries"]) == ("failed", 2)


def test_work_with_conflict_markers_is_not_checked_though_the_agent_calls_it_done(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(done=True, conflicts=["a.txt"])
    run.post(effects.PROTECT, {"changed": True, "undone": [], "reported": []})
    assert "You left conflict markers in a.txt" in run.arguments_of(effects.WORK)["notes"][0]
    assert run.receipt()["tasks"][0]["reason"] == "the agent left merge conflicts in a.txt"


def test_protected_files_are_restored_after_an_agent_that_crashed(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(effect_results.CRASHED)
    run.post(effects.PROTECT, {"changed": True, "undone": [], "reported": []})
    run.work(effect_results.CRASHED, changed=False)
    assert run.arguments_of(effects.PAUSE)["why"] == effects.WHY_ENDED


def test_a_session_that_cannot_be_resumed_is_not_resumed_again(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, ONE)
    run.post_checks(RED)
    run.work(effect_results.QUESTION, question="Which?", session_id="s1", changed=False)
    run.post("breakpoint", {"response": "green", "approved": True})
    assert run.arguments_of(effects.WORK)["session_id"] == "s1"
    run.work(effect_results.CRASHED, changed=False, said="no session found")
    asked = run.arguments_of(effects.WORK)
    assert (asked["session_id"], asked["asked"], asked["answer"]) == (None, "Which?", "green")
