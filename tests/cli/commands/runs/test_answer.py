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
