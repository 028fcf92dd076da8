"""Later iterations are new sessions: each prompt of a task has the questions and answers that came before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.loop import effect_results, effects
from bridle.loop.process import ralph
from bridle.loop.process.questions import ANSWERED_CHARACTERS, POLICY_ANSWER
from bridle.loop.process.task_state import TaskState
from tests.loop.fixtures import run_on_engine
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.run_on_engine import GREEN, RED, RunOnEngine

PLAN = "# T\n\n## One\nCheck: `test -f one`\n"
# Asks until a prompt has the answer; what it does with it first is wrong.
ASKS_UNTIL_TOLD = """
if task == "One":
    if "blue-answer" not in prompt:
        end(structured_output=answer | {"done": False, "question": "Which colour?"})
    open("one" if os.path.exists("half") else "half", "w").close()
else:
    open(task.lower(), "w").close()
"""


def answered(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"question": question, "answer": answer} for question, answer in pairs]


def ask(run: RunOnEngine, question: str, answer: object, **more: object) -> None:
    run.work(effect_results.QUESTION, question=question, session_id="s1", changed=False)
    run.post("breakpoint", {"response": answer, "approved": True, **more})


@pytest.mark.parametrize("options", [(), ("--parallel", "2")])
def test_an_answer_is_in_the_prompts_of_all_later_iterations(tmp_path: Path, options: tuple[str, ...]) -> None:
    here = make_project(tmp_path, PLAN + "\n## Two\nCheck: `test -f two`\n", ASKS_UNTIL_TOLD)
    asked = json.loads(here.bridle("run", "--json", *options).stdout)["tasks"][0]
    done = here.bridle("answer", asked["effect"], "blue-answer", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"][0]["iterations"] == 3
    prompts = [call["prompt"] for call in here.calls() if call["task"] == "One"]
    assert ["blue-answer" in prompt for prompt in prompts] == [False, True, True]
    assert "The question was: Which colour?\n\nThe answer: blue-answer" in prompts[2]
    assert not any("blue-answer" in call["prompt"] for call in here.calls() if call["task"] == "Two")
    for command in ("replay", "audit"):
        assert here.bridle(command).returncode == 0


def test_all_questions_of_a_task_are_known_to_its_later_agents(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN, tries=5)
    run.post_checks(RED)
    assert "answered" not in run.arguments_of(effects.WORK)
    ask(run, "Which?", "green")
    assert "answered" not in run.arguments_of(effects.WORK), "the answer itself is in the arguments"
    ask(run, "How much?", "ok", respondedBy="policy")
    assert run.arguments_of(effects.WORK)["answered"] == answered(("Which?", "green"))
    run.work(effect_results.CRASHED, changed=False)
    assert run.arguments_of(effects.WORK)["answered"] == answered(("Which?", "green"))
    run.work()
    run.finish_iteration(RED)
    both = answered(("Which?", "green"), ("How much?", POLICY_ANSWER))
    args = run.arguments_of(effects.WORK)
    assert (args["answered"], args["answer"], args["session_id"]) == (both, None, None)
    run.work(changed=False)
    assert run.arguments_of(effects.WORK)["answered"] == both
    run.work()
    run.finish_iteration(GREEN)
    assert run.receipt()["verdict"] == "done"


def test_answers_that_are_kept_are_limited_in_size_and_the_oldest_are_left_out(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.post_checks(RED)
    for number in range(5):
        ask(run, f"Which {number}?", str(number) * 6000)
    ask(run, "The last?", "x" * 100_000)
    kept = run.arguments_of(effects.WORK)["answered"]
    assert [entry["question"] for entry in kept] == ["Which 3?", "Which 4?"]
    run.work()
    run.finish_iteration(RED)
    assert run.arguments_of(effects.WORK)["answered"] == answered(("The last?", "x" * ANSWERED_CHARACTERS))


def test_a_run_of_an_earlier_wording_replays_and_its_next_agent_knows_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(task: TaskState) -> None:
        task.answer = None

    with monkeypatch.context() as earlier:
        earlier.setattr(run_on_engine, "WORDING", 4)
        earlier.setattr(ralph, "remember_answer", forget)
        run = RunOnEngine(tmp_path, PLAN)
        run.post_checks(RED)
        ask(run, "Which?", "green")
        run.work()
        run.finish_iteration(RED)
        assert "answered" not in run.arguments_of(effects.WORK)
    run.work()
    run.finish_iteration(RED)
    assert run.arguments_of(effects.WORK)["answered"] == answered(("Which?", "green"))
    assert run.receipt()["tasks"][0]["tries"] == 2
