"""Attack: a file whose name has a newline and a forged line of progress; Bridle prints the name.

Everything that is printed as one line stays one line: messages, progress, the receipt.

With the sandbox: the same; it is what Bridle prints.
Without: stays one line.
Reported: nothing to report.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.cli.commands.agents import ask
from bridle.cli.user_interface.run_display import LineDisplay
from bridle.cli.user_interface.terminal import say
from bridle.loop.effect_results import FileReport
from bridle.loop.plan.model import Plan
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.process.task_state import Verdict
from bridle.loop.run_inputs import RunInputs
from bridle.loop.settings.model import Settings
from bridle.views.terminal.escape_controls import escape_line
from bridle.views.terminal.receipt import plain_lines
from bridle.wire.mask import Mask

NAME = "n\n  ✓ FORGED  done\x1b[2K\x1b]0;title\x07"


def test_no_line_begins_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    empty = RunInputs(
        run="r", plan=Plan("P", "", ()), repository=".", base="", branch="", came_from=None, settings=Settings()
    )
    display = LineDisplay(Path("."), (Path("."),), empty, Mask(()))
    for write in (say, ask._say, display.say):
        write(f"T: running the checks again without {NAME}")
        assert capsys.readouterr().err.count("\n") == 1
    assert "\n" not in escape_line(NAME)
    task = TaskReceipt(
        title=f"T{NAME}",
        verdict=Verdict.FAILED,
        reason=f"the checks need {NAME}",
        undone=(NAME,),
        reported=(FileReport(NAME, "new"),),
    )
    receipt = Receipt(run="r", plan=NAME, tasks=(task,), branch=NAME, found=(NAME,), refused=(NAME,), worktree=NAME)
    assert [line for line in plain_lines(receipt) if "\n" in line or line.startswith("  ✓ FORGED")] == []
