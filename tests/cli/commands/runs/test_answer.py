"""`bridle answer`: the plugin's hooks run as with `bridle drive`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import bridle, create
from tests.journal.fixtures.recorded_samples import contents

PROCESS = """
async def process(inputs, ctx):
    return await ctx.breakpoint({"question": "Ship it?"})
"""


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


def asking(folder: Path, run: str) -> str:
    """Create a run whose breakpoint is open, and return the breakpoint's id."""
    folder.mkdir(exist_ok=True)
    (folder / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(folder, "--run-id", run).code == 0
    return str(bridle("run:iterate", run, "--json", cwd=folder).document["effects"][0]["effectId"])


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


def test_a_refused_answer_names_what_to_do(repository: Path) -> None:
    effect = asking(repository, "r1")
    done = bridle("answer", effect, "", "--approve", cwd=repository)
    assert (done.code, "pass --approve without a text" in done.stderr) == (2, True)
    assert "no effect 'NOPE' in run r1" in bridle("answer", "NOPE", "yes", cwd=repository).stderr
    assert bridle("answer", effect, "yes", cwd=repository).code == 0
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
