"""`bridle audit` and `bridle replay`: what they print and how they exit."""

from __future__ import annotations

import json
from pathlib import Path

from tests.engine.fixtures.driven_runs import new_driven_run

SHELL = "async def process(inputs, ctx): return (await ctx.task(shell, {'command': 'echo hi'}))['stdout']"


def test_a_driven_run_agrees_and_is_in_order(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    assert driven.bridle("drive").returncode == 0
    audit, replay = driven.bridle("audit"), driven.bridle("replay")
    assert (audit.returncode, replay.returncode) == (0, 0)
    assert audit.stdout.startswith("r1 has no problems: 6 entries, 1 effect")
    assert replay.stdout == "r1 (completed) agrees: 1 effect, 6 entries\n"
    document = json.loads(driven.bridle("replay", "r1", "--json").stdout)
    assert (document["agrees"], document["differences"], document["effects"]) == (True, [], 1)


def test_a_changed_byte_is_named_and_exits_1(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    driven.bridle("drive")
    path = driven.run / "tasks" / driven.effect("Shell") / "result.json"
    path.write_bytes(path.read_bytes().replace(b"hi", b"ho"))
    done = driven.bridle("audit")
    assert done.returncode == 1
    assert f"wrong: {path}: it was changed after journal/000005." in done.stdout
    assert "r1 has " in done.stdout.splitlines()[-1]
    document = json.loads(driven.bridle("audit", "--json").stdout)
    assert not document["ok"]
    assert str(path.relative_to(driven.run)) in [finding["file"] for finding in document["wrong"]]


def test_a_changed_log_of_a_command_is_named(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    driven.bridle("drive")
    path = driven.run / "tasks" / driven.effect("Shell") / "stdout.log"
    path.write_bytes(b"ho\n")
    assert f"wrong: {path}: it was changed" in driven.bridle("audit").stdout


def test_a_process_that_decides_otherwise_is_named_and_exits_1(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    driven.bridle("drive")
    process = driven.folder / ".a5c/process.py"
    process.write_text(process.read_text().replace("echo hi", "echo ho"))
    done = driven.bridle("replay")
    assert done.returncode == 1
    assert done.stdout.startswith("differs at 000003.")
    assert f"{process}:" in done.stdout
    assert "has changed since" in done.stderr


def test_a_broken_journal_is_audited_and_cannot_be_replayed(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, SHELL)
    driven.bridle("drive")
    entry = sorted((driven.run / "journal").iterdir())[2]
    entry.write_bytes(entry.read_bytes()[:-10])
    assert entry.name in driven.bridle("audit").stdout
    done = driven.bridle("replay", "--json")
    assert (done.returncode, json.loads(done.stderr)["error"]) == (1, "JOURNAL_BROKEN")
    assert entry.name in done.stderr
