"""Keys on the live screen, and questions that are asked on it while other tasks go on."""

from __future__ import annotations

import json
from pathlib import Path

from bridle.cli.user_interface.input_line import ESCAPE_KEY, InputLine
from tests.cli.fixtures.terminal import plain, terminal
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import assert_replays

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
# The agent of `Two` waits until the test lets it go; `One` asks first.
WAITS = """
open(os.path.join(os.path.dirname(calls), f"at-{number}"), "w").close()
while not os.path.exists(os.path.join(os.path.dirname(calls), f"go-{number}")): time.sleep(0.01)
"""
MAKES = "open(task.lower(), 'w').close()"
ASKS_FIRST = f"""
if task == "One" and number == 1:
    answer["question"], answer["done"] = "red or blue?", False
else:
    if task == "Two":
        {WAITS.strip().splitlines()[0]}
        {WAITS.strip().splitlines()[1]}
    {MAKES}
"""


def go(here: Project, number: int) -> None:
    (here.agent_folder / f"go-{number}").touch()


def events(here: Project, kind: str) -> list[dict[str, object]]:
    run = json.loads(here.bridle("status", "--json").stdout)["run"]
    listed = json.loads(here.bridle("run:events", run, "--json").stdout)["events"]
    return [event["data"] for event in listed if event["type"] == kind]


def test_a_question_is_asked_at_once_and_answered_while_another_task_goes_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, ASKS_FIRST)
    with terminal(here, "run", "--no-baseline") as shown:
        shown.until("One asks: red or blue")
        shown.until("answer for 'One'")
        assert len(here.calls()) <= 2  # the other task's agent is running, or about to
        shown.press("blux\x7fe\x1b[D\n")
        shown.until("answered: blue")
        go(here, 2)
        code = shown.end()
    assert code == 0, plain(shown.seen)[-3000:]
    assert [call["task"] for call in here.calls()] == ["One", "Two", "One"]
    assert "blue" in here.calls()[2]["prompt"]


def test_the_last_question_keeps_the_run_on_the_terminal_until_it_is_answered(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, f"if number <= 2: answer.update(question='how?', done=False)\nelse: {MAKES}")
    with terminal(here, "run", "--no-baseline") as shown:
        shown.until("One asks: how")
        shown.press("so\n")
        shown.until("answered: so")
        shown.until("Two asks: how")
        shown.press("otherwise\n")
        code = shown.end()
    assert code == 0, plain(shown.seen)[-3000:]


def test_enter_alone_leaves_the_question_for_later(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# T\n\n## One\nCheck: `test -f one`\n", "answer.update(question='how?', done=False)")
    with terminal(here, "run", "--no-baseline") as shown:
        shown.until("answer for 'One'")
        shown.press("\n")
        code = shown.end()
    assert code == 4
    assert "not answered; later: key a, or bridle answer and bridle resume" in plain(shown.seen)
    assert "bridle answer" in plain(shown.seen)


def test_keys_hint_limit_prompt_log_and_help(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WAITS + MAKES)
    with terminal(here, "run", "--no-baseline") as shown:
        shown.until("iteration 1 of 50")
        assert "? lists the keys" in plain(shown.seen)
        shown.press("?")
        for meaning in ("pause after this iteration", "raise a limit", "view the prompt", "list the keys"):
            shown.until(meaning)
        shown.press("v")
        shown.until("the prompt: .*prompts/one")
        shown.press("l")
        shown.until("showing the agent's texts")
        shown.press("hmind the gap\n")
        shown.until("hint for the next iteration: mind the gap")
        shown.press("mcost 40\n")
        shown.until("limit: cost 40")
        shown.press("mspeed 3\n")
        shown.until("a limit is cost 40")
        shown.press("mtries many\n")
        shown.until("must be")
        go(here, 1)
        go(here, 2)
        code = shown.end()
    assert code == 0, plain(shown.seen)[-3000:]
    assert "invalid setting: --tries must be" in plain(shown.seen)
    assert "mind the gap" in here.calls()[1]["prompt"]
    assert events(here, "BRIDLE_LOOP_LIMITS") == [{"max_cost_usd": 40.0}]
    assert events(here, "BRIDLE_LOOP_HINT") == [{"text": "mind the gap"}]


def test_the_escape_key_leaves_a_line_and_the_keys_of_a_sequence_do_not() -> None:
    done: list[str] = []
    line = InputLine("hint", done.append)
    assert not any(line.press(key) for key in "not\x1b[D")
    assert (line.text, done) == ("not", [])
    assert line.press(ESCAPE_KEY)
    assert done == [""]


def test_a_limit_that_is_lowered_while_an_agent_works_counts_before_the_next_one(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WAITS + MAKES)
    with terminal(here, "run", "--no-baseline") as shown:
        shown.until("iteration 1 of 50")
        shown.press("miterations 1\n")
        shown.until("limit: iterations 1")
        go(here, 1)
        go(here, 2)
        code = shown.end()
    assert code == 3, plain(shown.seen)[-3000:]
    assert [call["task"] for call in here.calls()] == ["One"]
    assert_replays(here)


def test_p_pauses_after_the_iteration_and_q_stops_at_once(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WAITS + MAKES)
    with terminal(here, "run", "--no-baseline") as shown:
        before = shown.modes()
        shown.until("iteration 1 of 50")
        shown.press("p")
        shown.until("pausing after this iteration")
        go(here, 1)
        code = shown.end()
        assert shown.modes() == before
    assert code == 130
    assert "paused after the iteration" in plain(shown.seen)
    assert [call["task"] for call in here.calls()] == ["One"]  # no agent was started and interrupted
    assert json.loads(here.bridle("status", "--json").stdout)["iterations"] == 1
    assert [task["verdict"] for task in json.loads(here.bridle("status", "--json").stdout)["tasks"]] == [
        "done",
        "pending",
    ]
    with terminal(here, "resume") as shown:
        shown.until("iteration 2 of 50")
        shown.press("q")
        assert shown.end() == 130
