"""An agent that asks: its task is parked, the others go on, and the answer reaches the same session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK

PLAN = "# T\n\n" + "\n".join(f"## {title}\nCheck: `test -f {title.lower()}`\n" for title in ("One", "Two", "Three"))
OTHER = "10f6d3c2-0000-4000-8000-000000000002"
ASKS = """
if number == 1:
    end(structured_output={"summary": "", "done": False, "question": "Which colour?", "patterns": []})
open(task.lower(), 'w').close()
"""


def test_a_question_parks_its_task_and_the_others_go_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    done = here.bridle("run", "--json")
    assert done.returncode == 4, done.stderr
    receipt = json.loads(done.stdout)
    assert [task["verdict"] for task in receipt["tasks"]] == ["needs you", "done", "done"]
    asked = receipt["tasks"][0]
    assert asked["question"] == "Which colour?"
    assert asked["tries"] == 0
    shown = here.bridle("status")
    assert f'bridle answer {asked["effect"]} "…"' in shown.stdout


LOOK = """
def end_after(turns, subtype="success"):
    is_error = subtype != "success"
    show(type="result", subtype=subtype, is_error=is_error, num_turns=turns, total_cost_usd=0.01, usage={})
    sys.exit(is_error)
def say(*blocks):
    show(type="assistant", message={"id": "m", "role": "assistant", "content": blocks, "stop_reason": "end_turn"})
if number > 1:
    open("made", "w").close()
    end(structured_output=answer)
"""
WORDS = 'say({"type": "text", "text": "I looked.\\nWhich one?"})'
TOOL = """say({"type": "tool_use", "id": "t", "name": "AskUserQuestion",
     "input": {"questions": [{"question": "Which colour?"}, {"question": "Which size?"}, 5]}})"""


@pytest.mark.parametrize(
    ("asks", "question", "ends"),
    [
        (WORDS, "I looked.\nWhich one?", "end()"),
        (WORDS, "I looked.\nWhich one?", "end_after(2)"),  # Claude Code reminds the model: one more turn
        (WORDS, "I looked.\nWhich one?", 'end_after(3, "error_max_structured_output_retries")'),  # as bridle-agent
        (TOOL, "Which colour?\nWhich size?", 'end(structured_output=answer | {"done": False})'),
    ],
)
def test_a_question_outside_of_the_structured_output_parks_too(
    tmp_path: Path, asks: str, question: str, ends: str
) -> None:
    here = make_project(tmp_path, "# T\n\n## One\nCheck: `test -f made`\n", f"{LOOK}\n{asks}\n{ends}")
    done = here.bridle("run", "--json")
    assert done.returncode == 4, done.stderr
    (asked,) = json.loads(done.stdout)["tasks"]
    assert (asked["verdict"], asked["question"], asked["tries"]) == ("needs you", question, 0)
    assert f"question: {' '.join(question.split())} (" in done.stderr
    answered = here.bridle("answer", asked["effect"], "blue", "--resume", "--json")
    assert (answered.returncode, len(here.calls())) == (0, 2), answered.stderr


def test_a_question_in_words_after_a_change_leaves_the_verdict_to_the_checks(tmp_path: Path) -> None:
    made = f"{LOOK.replace('number > 1', 'False')}\nopen('made', 'w').close()\n{WORDS}\nend_after(5)"
    here = make_project(tmp_path, "# T\n\n## One\nCheck: `test -f made`\n", made)
    done = here.bridle("run", "--json")
    assert (done.returncode, json.loads(done.stdout)["tasks"][0]["verdict"]) == (0, "done"), done.stderr


def test_any_words_answer_it_and_they_reach_the_same_session(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    effect = json.loads(here.bridle("run", "--json").stdout)["tasks"][0]["effect"]
    said = here.bridle("answer", effect, "blue, as the sky is")
    assert said.returncode == 0, said.stderr
    assert "bridle resume" in said.stdout
    done = here.bridle("resume", "--json")
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)
    assert [task["verdict"] for task in receipt["tasks"]] == ["done"] * 3
    assert json.loads(here.bridle("status", "--json").stdout) == receipt
    last = here.calls()[-1]
    assert last["task"] == "One"
    assert "blue, as the sky is" in last["prompt"]
    assert "--resume=10f6d3c2-0000-4000-8000-000000000001" in last["argv"]
    assert here.bridle("replay").returncode == 0


def test_a_session_that_was_begun_instead_of_the_resumed_one_and_failed_is_not_resumed(tmp_path: Path) -> None:
    fails = 'if number == 2: end("error_during_execution", True, "no", structured_output=asked("Which?"))'
    asks = 'if number == 1: end(structured_output=asked("Which colour?"))'
    asked = "asked = lambda question: answer | {'done': False, 'question': question}"
    here = make_project(tmp_path, ONE_TASK, "\n".join((asked, fails, asks, MAKES_FILE)))
    program = here.agent_folder / "claude"
    program.write_text(program.read_text().replace("def show", f"if number == 2: session = {OTHER!r}\ndef show", 1))
    done = here.bridle("run", "--json")
    for answer in ("blue", "blue, as I said"):
        effect = json.loads(done.stdout)["tasks"][0]["effect"]
        assert here.bridle("answer", effect, answer).returncode == 0
        done = here.bridle("resume", "--json")
    assert done.returncode == 0, done.stderr
    resumed = [[word for word in call["argv"] if word.startswith("--resume")] for call in here.calls()]
    assert resumed == [[], ["--resume=10f6d3c2-0000-4000-8000-000000000001"], []]
    assert "The question was: Which?" in here.calls()[-1]["prompt"], "no session knows the question"


def test_an_answer_can_go_on_at_once(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    effect = json.loads(here.bridle("run", "--json").stdout)["tasks"][0]["effect"]
    done = here.bridle("answer", effect, "blue", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "done"


def test_an_empty_answer_is_none(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    effect = json.loads(here.bridle("run", "--json").stdout)["tasks"][0]["effect"]
    assert here.bridle("answer", effect, "  ").returncode == 2
    assert json.loads(here.bridle("status", "--json").stdout)["tasks"][0]["verdict"] == "needs you"


def test_where_a_policy_answers_the_agent_is_asked_to_decide(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    done = here.bridle("run", "--breakpoints", "approve", "--json")
    assert done.returncode == 0, done.stderr
    assert "Decide it yourself" in [call["prompt"] for call in here.calls() if call["task"] == "One"][1]


def test_a_run_of_the_loop_is_not_driven_as_any_other(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS)
    here.bridle("run")
    done = here.bridle("drive")
    assert done.returncode == 2
    assert "bridle resume" in done.stderr


ALWAYS_ASKS = 'end(structured_output={"summary": "", "done": False, "question": "Which?", "patterns": []})'


def test_questions_without_end_use_up_the_tries_where_no_user_answers(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, f"if task == 'One':\n    {ALWAYS_ASKS}\nopen(task.lower(), 'w').close()")
    done = here.bridle("run", "--breakpoints", "approve", "--tries", "2", "--json")
    assert done.returncode == 1, done.stderr
    asks, *others = json.loads(done.stdout)["tasks"]
    assert (asks["verdict"], asks["tries"], asks["iterations"]) == ("failed", 2, 3)
    assert "asks questions that no user answers" in asks["reason"]
    assert [task["verdict"] for task in others] == ["done", "done"]
    assert here.bridle("replay").returncode == 0


def test_a_task_is_tried_again_beside_an_open_question_and_so_is_the_one_that_asked(tmp_path: Path) -> None:
    fails = "if task == 'Two' and number == 2:\n    end(structured_output=answer | {'done': False})\n"
    here = make_project(tmp_path, PLAN, fails + ASKS.lstrip())
    first = json.loads(here.bridle("run", "--json", "--tries", "1").stdout)
    assert [task["verdict"] for task in first["tasks"]] == ["needs you", "failed", "done"]
    done = here.bridle("retry", "Two", "--resume", "--json")
    assert done.returncode == 4, done.stderr
    assert [task["verdict"] for task in json.loads(done.stdout)["tasks"]] == ["needs you", "done", "done"]
    done = here.bridle("retry", "One", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "done"
    last = here.calls()[-1]
    assert (last["task"], "Which colour?" in last["prompt"], "Decide it yourself" in last["prompt"]) == (
        "One",
        True,
        True,
    )
    assert not any("--resume" in word for word in last["argv"])
    for command in ("replay", "audit"):
        assert here.bridle(command).returncode == 0


GONE = """
if any(word.startswith("--resume") for word in sys.argv):
    {deed}
open(task.lower(), 'w').close()
"""


@pytest.mark.parametrize(
    "deed",
    [
        "print('No conversation found with session ID: 1', file=sys.stderr); sys.exit(1)",
        "end('error_during_execution', True, '', errors=['No conversation found with session ID: 1'])",
    ],
)
def test_an_answer_is_not_lost_with_the_session_that_asked(tmp_path: Path, deed: str) -> None:
    asks, _ = ASKS.rsplit("open(", 1)
    here = make_project(tmp_path, PLAN, asks + GONE.format(deed=deed))
    effect = json.loads(here.bridle("run", "--json").stdout)["tasks"][0]["effect"]
    done = here.bridle("answer", effect, "blue, as the sky is", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "done"
    last = here.calls()[-1]["prompt"]
    assert "Which colour?" in last
    assert "blue, as the sky is" in last
    assert here.bridle("replay").returncode == 0
