"""`bridle answer`: which question is meant; the plugin's hooks run as with `bridle drive`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import bridle, create
from tests.cli.fixtures.open_breakpoint import PROCESS, asking
from tests.journal.fixtures.recorded_samples import contents
from tests.loop.fixtures.fake_agent import make_project


@pytest.mark.parametrize("is_named", [True, False])
def test_an_answer_runs_the_hooks_of_the_plugin_too(tmp_path: Path, is_named: bool) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    plugin, witness = tmp_path / "plugin", tmp_path / "witness"
    for hook_type in ("on-task-complete", "on-run-complete"):
        (plugin / "hooks" / hook_type).mkdir(parents=True)
        (plugin / "hooks" / hook_type / "a.sh").write_text(f"echo {hook_type} >> {witness}\n")
    assert create(tmp_path, "--run-id", "r1").code == 0
    effect = bridle("run:iterate", "r1", "--json", cwd=tmp_path).document["effects"][0]["effectId"]
    option = ("--plugin-root", plugin) if is_named else ()
    variables = {} if is_named else {"CLAUDE_PLUGIN_ROOT": str(plugin)}
    done = bridle("answer", effect, "yes", "r1", "--resume", *option, cwd=tmp_path, **variables)
    assert done.code == 0, done.stderr
    assert witness.read_text().split() == ["on-task-complete", "on-run-complete"]


@pytest.mark.parametrize("wrong", ["nowhere", "process.py", ""])
def test_a_plugin_that_is_no_folder_is_refused_before_anything_is_written(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    option = ("--plugin-root", wrong)
    assert create(tmp_path, "--run-id", "r1").code == 0
    effect = bridle("run:iterate", "r1", "--json", cwd=tmp_path).document["effects"][0]["effectId"]
    before = contents(tmp_path)
    for words in (
        ("answer", effect, "yes", "r1"),
        ("drive", "r1"),
        ("run:iterate", "r1"),
        ("task:post", "r1", effect, "--status", "ok", "--value-inline", "1"),
        ("run:create", "--process-id", "p", "--entry", "./process.py#process", "--run-id", "r2"),
    ):
        done = bridle(*words, *option, cwd=tmp_path)
        code = 1 if ":" in words[0] else 2  # commands for agents have one code for every refusal
        assert (done.code, "--plugin-root" in done.stderr) == (code, True), (words, done)
    assert contents(tmp_path) == before


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_without_a_run_the_questions_of_all_runs_here_are_meant(repository: Path) -> None:
    """A newer run of the top does not hide the run of the folder, which waits."""
    here = repository / "part"
    first = asking(here, "of-the-part")
    (repository / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(repository, "--run-id", "newest").code == 0
    assert bridle("answer", cwd=here).stdout == f"run of-the-part:\n{first} Ship it?\n"
    assert bridle("answer", "--json", cwd=here).document["run"] == "of-the-part"
    second = asking(repository, "of-the-top")
    listed = bridle("answer", "--list", cwd=here).stdout
    assert listed == f"run of-the-top:\n{second} Ship it?\nrun of-the-part:\n{first} Ship it?\n"
    assert bridle("answer", "--json", cwd=here).document["otherRuns"][0]["questions"][0]["effectId"] == first
    assert "could be a question of any of these runs" in bridle("answer", first[:3], "yes", cwd=here).stderr
    done = bridle("answer", first, "yes", cwd=here)
    assert (done.code, done.stdout) == (0, "answered; continue with: bridle drive of-the-part\n")
    assert bridle("answer", cwd=here).stdout == f"{second} Ship it?\n"
    assert bridle("answer", "--list", "newest", cwd=here).stdout == "newest: no open questions\n"


def test_a_text_alone_answers_the_only_open_question(repository: Path) -> None:
    effect = asking(repository, "r1")
    assert "the answer is missing" in bridle("answer", effect, cwd=repository).stderr
    done = bridle("answer", "yes", "--json", cwd=repository)
    assert (done.code, done.document["effectId"], done.document["value"]["response"]) == (0, effect, "yes")
    asking(repository, "r2")
    asking(repository, "r3")
    done = bridle("answer", "no", cwd=repository)
    assert (done.code, "2 questions are open: name one before the answer" in done.stderr) == (2, True)
    assert bridle("answer", "no", "r2", "--json", cwd=repository).document["run"] == "r2"
    assert bridle("answer", "--approve", "--json", cwd=repository).document["run"] == "r3"
    done = bridle("answer", "--approve", cwd=repository)
    assert (done.code, "name the question to answer" in done.stderr) == (2, True)


def test_a_question_of_the_loop_is_named_by_its_task(tmp_path: Path) -> None:
    plan = "# Two\n\n## Paint it\nCheck: `test -f red`\n\n## Name it\nCheck: `test -f bob`\n"
    agent = """
    if number <= 2:
        answer["question"], answer["done"] = f"how for {task}?", False
    else:
        open("red" if task == "Paint it" else "bob", "w").close()
    """
    here = make_project(tmp_path, plan, agent)
    assert here.bridle("run", "PLAN.md").returncode == 4
    listed = here.bridle("answer")
    assert [line.split(" ", 1)[1] for line in listed.stdout.splitlines()] == [
        "Paint it: how for Paint it?",
        "Name it: how for Name it?",
    ]
    assert json.loads(here.bridle("answer", "--json").stdout)["questions"][0]["task"] == "Paint it"
    done = here.bridle("answer", "it", "red")
    assert (done.returncode, "'it' could be any of these questions" in done.stderr) == (2, True)
    assert here.bridle("answer", "Paint it", "0").returncode == 0  # a short text is no prefix of an id
    done = here.bridle("answer", "name", "bob", "--resume")
    assert (done.returncode, [call["task"] for call in here.calls()]) == (0, ["Paint it", "Name it"] * 2)


def test_a_refused_answer_names_what_to_do(repository: Path) -> None:
    effect = asking(repository, "r1")
    done = bridle("answer", effect, "", "--approve", cwd=repository)
    assert (done.code, "pass --approve without a text" in done.stderr) == (2, True)
    assert (
        "no open question of a task or an id like 'NOPE' in run r1"
        in bridle("answer", "NOPE", "yes", cwd=repository).stderr
    )
    assert bridle("answer", effect, "yes", cwd=repository).code == 0
    assert (
        "no question is open in run r1, so 'NOPE' names none" in bridle("answer", "NOPE", "yes", cwd=repository).stderr
    )
    assert f"bridle task:show r1 {effect} prints its result" in bridle("answer", effect, "no", cwd=repository).stderr


def test_runs_in_other_folders_are_named_where_there_are_none(repository: Path) -> None:
    asking(repository / "part", "r1")
    (repository / "beside").mkdir()
    for here, name in ((repository, "part/.a5c/runs/r1"), (repository / "beside", "../part/.a5c/runs/r1")):
        for words in (("answer",), ("status",), ("drive", "r1"), ("audit", "r")):
            done = bridle(*words, cwd=here)
            assert (done.code, f"In other folders of the repository: {name}. " in done.stderr) == (2, True), done
    assert "Ship it?" in bridle("answer", "--list", "part/.a5c/runs/r1", cwd=repository).stdout
    assert "bridle run PLAN.md" in bridle("answer", "--runs-dir", "x", cwd=repository).stderr


def test_a_run_of_a_process_takes_no_hint_and_its_state_is_that_of_a_process(repository: Path) -> None:
    asking(repository, "r1")
    before = contents(repository)
    done = bridle("hint", "faster", cwd=repository)
    assert (done.code, "Continue it with: bridle drive r1" in done.stderr) == (2, True)
    assert "Its state: bridle run:status r1" in bridle("show", "r1", cwd=repository).stderr
    assert contents(repository) == before
