"""A driver waits for the iteration of another program, however long its hooks take."""

from __future__ import annotations

import os
from pathlib import Path

from tests.engine.fixtures.driven_runs import new_driven_run

PROCESS = """
async def process(inputs, ctx):
    await ctx.task(shell, {"command": "true"})
    return (await ctx.hook("note", {}))["status"]
"""
# Holds the iteration until the test has written to the pipe.
HOOK = "#!/bin/sh\necho begun > {begun}\nread -r line < {end}\n"


def test_a_driver_waits_for_the_hooks_of_another_iteration(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, PROCESS)
    begun, end = tmp_path / "begun", tmp_path / "end"
    os.mkfifo(begun)
    os.mkfifo(end)
    script = tmp_path / "settings" / "babysitter" / "hooks" / "note" / "hook.sh"
    script.parent.mkdir(parents=True)
    script.write_text(HOOK.format(begun=begun, end=end), encoding="utf-8")
    script.chmod(0o755)
    driven.variables["XDG_CONFIG_HOME"] = str(tmp_path / "settings")
    assert driven.bridle("run:iterate", str(driven.run)).returncode == 0
    assert (
        driven.bridle(
            "task:post", str(driven.run), driven.effect("Shell"), "--status", "ok", "--value-inline", "1"
        ).returncode
        == 0
    )
    other = driven.start("run:iterate", str(driven.run))
    assert begun.read_text() == "begun\n"  # it holds the lock of iterations now
    driver = driven.start("drive", str(driven.run))
    assert driver.stderr is not None
    assert f"(process {other.pid}) and its hooks" in driver.stderr.readline()
    end.write_text("end\n")
    assert "completed" in driver.communicate()[0]
    other.communicate()
    assert other.returncode == 0
    assert driven.output() == "executed"
    assert driven.types().count("HOOK_RESOLVED") == 1
