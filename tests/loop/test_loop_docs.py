"""docs/loop.md says what the loop does."""

from __future__ import annotations

import re
from pathlib import Path

from bridle.cli import command_table
from bridle.cli.user_interface.loop_runs import EXIT_CODES
from bridle.loop.control.runs import final_status
from bridle.loop.process import decisions
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.process.task_state import ACCEPTED, VERIFIED, Verdict
from bridle.loop.settings import limits
from bridle.loop.settings.model import KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "loop.md").read_text(encoding="utf-8")
VERDICTS = set(Verdict)


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_verdict_is_explained_with_what_it_counts_for() -> None:
    told = {row[0].strip("`"): row for row in rows('What "done" means')}
    assert told.keys() == VERDICTS
    for verdict, (_, _, counts, code) in told.items():
        assert (counts == "yes") == (verdict in ACCEPTED), verdict
        assert (code == "0") == (verdict in VERIFIED), verdict
    for verdict in VERDICTS - {Verdict.PENDING}:  # a task whose turn has not come leaves the limit's own code
        assert (
            int(told[verdict][3]) == EXIT_CODES[final_status(Receipt(tasks=(TaskReceipt(title="T", verdict=verdict),)))]
        )


def test_the_limits_are_those_of_the_program() -> None:
    words = f"{limits.ITERATIONS} iterations, {limits.TRIES} tries for a task, {limits.SECONDS / 3600:g} hours"
    assert f"{words}, {limits.COST_USD:g} USD" in PAGE
    assert decisions.STUCK_AFTER == 3
    assert "three times the same failure" in PAGE
    assert decisions.CRASHES == 2
    assert "twice in a row fail the task" in PAGE
    assert [decisions.backoff_seconds(waits) for waits in (0, 1, 20)] == [5, 10, 300]
    assert "5 seconds, doubling to 5 minutes" in PAGE


def test_every_command_it_names_is_there() -> None:
    named = set(re.findall(r"bridle ([a-z]+)", PAGE)) - {"itself"}
    known = {command.name for command in command_table.USER_COMMANDS if command.module is not None}
    assert named <= known, named - known


def test_every_setting_it_names_is_one() -> None:
    assert {"clean", "notify"} <= KEYS.keys()
    assert '`clean = "checkout"`' in PAGE
    assert "`notify` in `bridle.toml`" in PAGE
