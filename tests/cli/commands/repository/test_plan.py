"""`bridle plan`: an agent reads, asks in the terminal, hears the answers in the same session, and a plan is written."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridle.ground import prices
from bridle.loop.plan import drafting
from bridle.loop.plan.read_plan import read_plan
from bridle.loop.settings.model import Settings
from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.fixtures.bridle_program import BRIDLE, BRIDLE_AGENT, run_bridle
from tests.real.fixtures.claude_on_stage import Answer, calls, says
from tests.run.fixtures.fake_agent import MODEL, Script, init, result
from tests.run.fixtures.fake_agent import says as prints

# Each turn is an agent start of a second or two; this is a hang.
LIMIT_SECONDS = 120.0
PLAN = """\
# Rate limits

Assumed: per key.

Checks: `true`

## Token bucket
Write it.
Check: `test -s limits.py`

## Wire it in
Needs: Token bucket
Check: `test -s api.py`
"""


@dataclass(frozen=True)
class Place:
    """A repository with a stage for its agent."""

    stage: Stage
    folder: Path

    def plan(self, *arguments: str, stdin: str | None = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BRIDLE), "plan", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment(**environment),
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def environment(self, **more: str) -> dict[str, str]:
        agent = {"BRIDLE_CLAUDE": str(BRIDLE_AGENT)}
        endpoint = {"ANTHROPIC_BASE_URL": self.stage.url, "ANTHROPIC_API_KEY": "dummy-key-000"}
        return os.environ | agent | endpoint | more

    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.stage.requests if request.path == "/v1/messages"]


@contextmanager
def place(folder: Path, *answers: Answer) -> Iterator[Place]:
    repository = folder / "shop"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", str(repository)], check=True, timeout=60)
    (repository / "README.md").write_text("A shop.\n")
    script = {"answers": list(answers), "otherwise": {"kind": "error", "status": 400, "message": "not in the script"}}
    with running(load_script(script)) as stage:
        yield Place(stage, repository)


def answers(*questions: str, plan: str = "") -> Answer:
    return calls("StructuredOutput", questions=list(questions), plan=plan)


def texts(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


def test_questions_are_asked_one_by_one_and_answered_in_the_same_session(tmp_path: Path) -> None:
    look = calls("Read", file_path=str(tmp_path / "shop/README.md"))
    with place(tmp_path, look, answers("Per key or per user?", "How many?"), answers(plan=PLAN)) as here:
        done = here.plan("Limit the rate", "--json", stdin="per key\n\n")
        bodies = here.bodies()
    assert done.returncode == 0, done.stderr
    assert "1/2 Per key or per user?" in done.stderr
    assert "2/2 How many?" in done.stderr
    assert "> Read README.md" in done.stderr
    plan = read_plan("PLAN.md", here.folder, Settings())
    assert [task.title for task in plan.tasks] == ["Token bucket", "Wire it in"]
    document = json.loads(done.stdout)
    assert document["plan"] == str(here.folder / "PLAN.md")
    assert [task["checks"] for task in document["tasks"]] == [["test -s limits.py"], ["test -s api.py"]]
    # The last request holds the whole conversation: the goal, what was read, and both answers.
    last = texts(bodies[-1])
    assert "Limit the rate" in last
    assert "A shop." in last
    assert "Per key or per user?\\n-> per key" in last
    assert "How many?\\n-> no answer; decide it" in last


def test_a_question_in_words_is_asked_too(tmp_path: Path) -> None:
    with place(tmp_path, *[says("Per key or per user?")] * 3, answers(plan=PLAN)) as here:
        done = here.plan("Limit the rate", "--agent", "bridle-agent", stdin="per key\n")
        bodies = here.bodies()
    assert done.returncode == 0, done.stderr
    assert "1/1 Per key or per user?" in done.stderr
    assert "Per key or per user?\\n-> per key" in texts(bodies[-1])
    assert (here.folder / "PLAN.md").read_text() == PLAN


def test_an_agent_that_asks_after_the_last_answer_ends_with_its_question(tmp_path: Path) -> None:
    with place(tmp_path, *[says("Per key\n\nor per user?")] * 3) as here:
        done = here.plan("Limit the rate", "--agent", "bridle-agent", "--no-questions", "--json")
    assert done.returncode == 1
    assert "no plan was written: the agent still asks: Per key or per user?" in done.stderr
    assert json.loads(done.stdout)["questions"] == ["Per key\n\nor per user?"]


def test_a_plan_that_cannot_be_read_goes_back_with_everything_that_is_wrong(tmp_path: Path) -> None:
    wrong = "# X\n\n## A\nNeeds: Nobody\nCheck: `true`\n\n## A\nCheck: `true`\n"
    with place(tmp_path, answers(plan=wrong), answers(plan=f"```markdown\n{PLAN}```")) as here:
        done = here.plan("Limit the rate")
        told = texts(here.bodies()[-1])
    assert done.returncode == 0, done.stderr
    assert "The plan is invalid" in told
    assert "Nobody" in told
    assert (here.folder / "PLAN.md").read_text() == PLAN


def test_an_agent_that_never_writes_a_usable_plan_ends_with_1_and_no_file(tmp_path: Path) -> None:
    wrong = [answers(plan="no task in here") for _ in range(drafting.CORRECTIONS + 1)]
    with place(tmp_path, *wrong) as here:
        done = here.plan("Limit the rate", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["plan"] is None
    assert "cannot be used" in json.loads(done.stdout)["error"]
    assert not (here.folder / "PLAN.md").exists()


def test_without_an_answer_the_question_is_left_with_exit_code_4(tmp_path: Path) -> None:
    with place(tmp_path, answers("Per key or per user?")) as here:
        done = here.plan("Limit the rate", "--json")
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["questions"] == ["Per key or per user?"]
    assert not (here.folder / "PLAN.md").exists()


def test_without_questions_the_agent_is_asked_to_decide(tmp_path: Path) -> None:
    with place(tmp_path, answers("May I ask?"), answers(plan=PLAN)) as here:
        done = here.plan("Limit the rate", "--no-questions", stdin=None)
        first = texts(here.bodies()[0])
    assert done.returncode == 0, done.stderr
    assert "You cannot ask questions" in first
    assert "The agent asks" not in done.stderr


def test_a_goal_on_standard_input_leaves_no_user_to_ask(tmp_path: Path) -> None:
    with place(tmp_path, answers(plan=PLAN)) as here:
        done = here.plan("-", stdin="Limit the rate\n")
        first = texts(here.bodies()[0])
    assert done.returncode == 0, done.stderr
    assert "Limit the rate" in first
    assert "You cannot ask questions" in first


def test_a_plan_that_is_there_is_never_overwritten_and_no_agent_is_started(tmp_path: Path) -> None:
    with place(tmp_path, says("never asked")) as here:
        (here.folder / "PLAN.md").write_text("mine")
        done = here.plan("Limit the rate")
        assert here.stage.requests == ()
    assert done.returncode == 2
    assert (here.folder / "PLAN.md").read_text() == "mine"


def test_the_hooks_for_a_finished_plan_hear_of_it_where_they_are_trusted(tmp_path: Path) -> None:
    with place(tmp_path, answers(plan=PLAN)) as here:
        hooks = Path(os.environ["HOME"]) / ".config/babysitter/hooks" / drafting.POST_PLANNING
        hooks.mkdir(parents=True)
        (hooks / "note.sh").write_text(f"cat > {tmp_path}/heard.json\n")
        done = here.plan("Limit the rate")
    assert done.returncode == 0, done.stderr
    heard = json.loads((tmp_path / "heard.json").read_text())
    assert heard["hookType"] == "post-planning"
    assert heard["planPath"] == str(here.folder / "PLAN.md")
    assert heard["tasks"] == ["Token bucket", "Wire it in"]


def test_a_missing_agent_is_reported_with_exit_code_5(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        done = here.plan("Limit the rate", BRIDLE_CLAUDE="/nowhere/claude")
    assert done.returncode == 5
    assert "/nowhere/claude" in done.stderr


def test_an_agent_whose_answer_has_no_form_cannot_plan(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        done = here.plan("Limit the rate", "--agent", "codex")
    assert done.returncode == 2
    assert "codex cannot plan" in done.stderr


def test_ctrl_c_at_a_question_ends_it_with_130_and_no_file(tmp_path: Path) -> None:
    """On a terminal of its own, as a person sits at it."""
    with place(tmp_path, answers("Per key or per user?")) as here:
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [str(BRIDLE), "plan", "Limit the rate"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=here.folder,
            env=here.environment(),
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        seen = b""
        while b"Per key or per user?" not in seen:
            assert select.select([master], [], [], LIMIT_SECONDS)[0], seen
            seen += os.read(master, 65536)
        os.write(master, b"\x03")
        while b"cost: " not in seen:
            assert select.select([master], [], [], LIMIT_SECONDS)[0], seen
            seen += os.read(master, 65536)
        assert child.wait(LIMIT_SECONDS) == 130
        os.close(master)
    assert b"interrupted; no plan was written: the questions were not answered" in seen
    assert not (here.folder / "PLAN.md").exists()


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize("given", [None, {}, [], {"plan": 3}, {"questions": "x"}, {"questions": [1, ""], "plan": " "}])
def test_an_answer_without_a_question_or_a_plan_is_sent_back(given: object) -> None:
    answer = drafting.read_answer(given, "PLAN.md", may_ask=True)
    assert isinstance(answer, drafting.Unusable)
    assert "neither" in answer.problems


def test_questions_count_only_while_they_are_allowed() -> None:
    given = {"questions": ["Which  one?"], "plan": ""}
    assert drafting.read_answer(given, "PLAN.md", may_ask=True) == drafting.Questions(("Which one?",))
    assert isinstance(drafting.read_answer(given, "PLAN.md", may_ask=False), drafting.Unusable)


def test_a_cost_that_is_not_known_is_called_unknown(tmp_path: Path) -> None:
    answer = {"questions": [], "plan": PLAN}
    unpriced = result("here", total_cost_usd=None, usage={}, structured_output=answer)
    agent = Script().listen().out(init(), unpriced).install(tmp_path / "bin", "claude")
    done = run_bridle("plan", "--json", "Rate limits", cwd=tmp_path, variables={"BRIDLE_CLAUDE": str(agent.path)})
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["cost_usd"], document["known_cost_usd"]) == (None, 0.0)
    assert "cost: unknown" in done.stderr


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (result("", subtype="error_max_turns"), "error_max_turns"),
        (result("", subtype="error_during_execution", errors=["kaboom words"]), "kaboom words"),
        (result("no", permission_denials=["Bash"]), "permission was refused for Bash"),
    ],
)
def test_why_there_is_no_plan_is_said_in_the_agents_words(tmp_path: Path, end: str, words: str) -> None:
    agent = Script().listen().out(init(), end).install(tmp_path / "bin", "claude")
    done = run_bridle("plan", "--json", "Rate limits", cwd=tmp_path, variables={"BRIDLE_CLAUDE": str(agent.path)})
    assert done.returncode == 1, done.stderr
    assert words in json.loads(done.stdout)["error"]
    assert words in done.stderr


def test_the_cost_of_an_attempt_that_was_retried_counts(tmp_path: Path) -> None:
    dies = Script().out(init(), prints("half")).exit(7)
    spent = prices.cost_usd(MODEL, input_tokens=3, output_tokens=1, input_includes_cached=False)
    assert spent is not None
    answer = {"questions": [], "plan": PLAN}
    plans = Script().on_start(1, dies).listen().out(init(), result("here", structured_output=answer))
    agent = plans.install(tmp_path / "bin", "claude")
    done = run_bridle("plan", "--json", "Rate limits", cwd=tmp_path, variables={"BRIDLE_CLAUDE": str(agent.path)})
    assert json.loads(done.stdout)["cost_usd"] == pytest.approx(0.25 + spent), done.stderr


def test_a_session_that_could_not_be_resumed_is_the_one_to_resume_next(tmp_path: Path) -> None:
    fails = result("", "s-9", subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    asks = result(session="s-1", structured_output={"questions": ["Which?"], "plan": ""})
    script = Script().on_start(2, Script().listen().out(init("s-9"), fails).exit(1)).listen().out(init("s-1"), asks)
    agent = script.install(tmp_path / "bin", "claude")
    variables = os.environ | {"BRIDLE_CLAUDE": str(agent.path)}
    done = subprocess.run(
        [str(BRIDLE), "plan", "--json", "Rate limits"],
        input="that one\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=variables,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    document = json.loads(done.stdout)
    assert (done.returncode, document["error"], document["session_id"]) == (1, "No conversation found", "s-1")


@pytest.mark.parametrize("out", ["missing/PLAN.md", "README.md/PLAN.md", "plan.json", "x" * 300 + ".md"])
def test_a_plan_that_could_not_be_written_is_refused_before_an_agent_is_paid(tmp_path: Path, out: str) -> None:
    with place(tmp_path, answers(plan=PLAN)) as here:
        done = here.plan("add rate limits", "--out", out)
        assert done.returncode in (1, 2), done.stderr
        assert not here.bodies()


def test_the_command_that_runs_the_plan_can_be_copied(tmp_path: Path) -> None:
    with place(tmp_path, answers(plan=PLAN)) as here:
        (here.folder / "docs").mkdir()
        done = here.plan("add rate limits", "--out", "docs/my plan.md")
        assert done.returncode == 0, done.stderr
        assert "bridle run 'docs/my plan.md'" in done.stderr
