"""`bridle answer`: the plugin's hooks run as with `bridle drive`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import bridle, create

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
