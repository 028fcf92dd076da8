"""A driver killed by SIGKILL, at named points and at any moment: the run goes on and ends the same.

Nothing that was done is lost, nothing is done twice without a record of it, and nothing is left behind.
"""

from __future__ import annotations

import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bridle.engine.entries.effect_attempts import JOINING, STARTED
from bridle.engine.iterate.compare import compare
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.upkeep.audit import audit
from tests.engine.fixtures.driven_runs import DrivenRun, new_driven_run, refs, wait_until, worktrees
from tests.engine.fixtures.killed_drivers import killed_at, places
from tests.fixtures.sandbox import pid_here
from tests.run.fixtures.fake_agent import Script, all_dead, init, result
from tests.sizes import SIZES
from tests.workspace.fixtures.repositories import git, read_tree

Report = Callable[[str, object], None]

ROOT = Path(__file__).parents[3]

# One command that may be repeated, then one agent in the repository.
ONE_BY_ONE = """
async def process(inputs, ctx):
    first = await ctx.task(again, {"command": inputs["command"]}, label="command")
    words = await ctx.task(agent, {"prompt": inputs["prompt"]}, label="agent")
    return [first["stdout"], words]
"""
# Two agents in working copies of their own, whose work is joined.
TWO_AT_ONCE = """
async def process(inputs, ctx):
    prompts = {"first": inputs["first"], "second": inputs["second"]}
    return await asyncio.gather(*(ctx.task(agent, {"prompt": prompts[name]}, label=name) for name in prompts))
"""

POINTS = {
    "one by one": {
        "the driver's lock is taken": r"write \S+/bridle-drive\.lock$",
        "the effect is asked for": r"entry EFFECT_REQUESTED",
        "before it is noted as started": r"entry BRIDLE_EFFECT_STARTED",
        "after it was noted as started": r"kept BRIDLE_EFFECT_STARTED",
        "before the command runs": r"create \S+/stdout\.log$",
        "while the command runs": r"write \S+/stdout\.log$",
        "after the command has run": r"sync \S+/stdout\.log$",
        "its result is written": r"write \S+/tasks/\w+/\.bridle-\w+\.tmp$",
        "its result is named": r"rename \S+ -> \S+/result\.json$",
        "before it is resolved": r"entry EFFECT_RESOLVED",
        "after it was resolved": r"kept EFFECT_RESOLVED",
        "before the agent runs": r"create \S+/\.ralph/logs/claude/\S+\.ndjson$",
        "while the agent runs": r"write \S+/\.ralph/logs/claude/\S+\.ndjson$",
        "after the agent has run": r"rename \S+ -> \S+/budget\.json$",
        "before the run has completed": r"entry RUN_COMPLETED",
        "after it has completed": r"kept RUN_COMPLETED",
        "the driver's lock is let go": r"truncate \S+/bridle-drive\.lock$",
    },
    "two at once": {
        "after one was noted as started": r"kept BRIDLE_EFFECT_STARTED",
        "its working copy is ready": r"rename \S+ -> \S+/bridle-ready$",
        "its agent runs": r"write \S+/\.ralph/logs/claude/\S+\.ndjson$",
        "its work is described": r"rename \S+ -> \S+/delivered\.json$",
        "before it is noted as delivered": r"entry BRIDLE_EFFECT_DELIVERED",
        "after it was noted as delivered": r"kept BRIDLE_EFFECT_DELIVERED",
        "before its join is noted": r"entry BRIDLE_EFFECT_JOINING",
        "after its join was noted": r"kept BRIDLE_EFFECT_JOINING",
        "after its join": r"rename \S+ -> \S+/result\.json$",
        "before it is resolved": r"entry EFFECT_RESOLVED",
        "after it was resolved": r"kept EFFECT_RESOLVED",
        "what it was lent is taken away": r"unlink \S+/delivered\.json$",
    },
}


def made(folder: Path, name: str) -> DrivenRun:
    """A run whose effects leave a line in a file of witnesses each time that they are done."""
    witness = folder / "bin" / "witness"
    if name == "one by one":
        inputs = {
            "command": f"echo command >> {witness}; echo begun; echo ended",
            "prompt": f"$ echo agent >> {witness}\n$ echo by the agent > made.txt",
        }
        return new_driven_run(folder, ONE_BY_ONE, inputs=inputs)
    inputs = {
        "first": f"$ echo first >> {witness}; echo 1 > first.txt; seq 500 > long.txt; rm sub/b.txt",
        "second": f"$ echo second >> {witness}; echo 2 > second.txt; echo more >> a.txt",
    }
    return new_driven_run(folder, TWO_AT_ONCE, inputs=inputs)


def facts(driven: DrivenRun) -> Any:
    """How the run ended, for the process and in the repository."""
    state = FileReader(driven.run).state()
    steps = sorted((effect.label, effect.status) for effect in state.effects.values())
    files = {name: value for name, value in read_tree(driven.folder).items() if not name.startswith((".a5c", ".ralph"))}
    return [driven.output(), steps, files, git(driven.folder, "rev-parse", "HEAD") != ""]


def check_order(driven: DrivenRun) -> None:
    """Nothing is left behind, everything is in order, and nothing was done without a note."""
    assert worktrees(driven.folder) == []
    assert [ref for ref in refs(driven.folder) if not ref.startswith("refs/heads/bridle/kept/")] == []
    assert not list((driven.folder / ".git").glob("bridle-*.index*"))
    pids = [start["pid"] for start in driven.agent.starts]
    assert not pids or all_dead(pids), "no agent outlives its driver"
    report = audit(driven.run)
    assert [(finding.file, finding.fault) for finding in report.wrong] == []
    assert compare(driven.run).differences == ()
    state = FileReader(driven.run).state()
    notes = [entry for entry in state.notes if entry.type == STARTED]
    witnesses = (driven.agent.path.parent / "witness").read_text().split()
    for effect in state.effects.values():
        started = sum(note.data["effectId"] == effect.effect_id for note in notes)
        assert witnesses.count(str(effect.label)) <= started, f"{effect.label} was done without a note"
    resolved = [effect.effect_id for effect in state.resolved]
    assert len(resolved) == len(set(resolved)) == len(state.effects)


@pytest.mark.parametrize("name", POINTS)
def test_killed_at_every_named_point_the_run_goes_on_and_ends_the_same(
    name: str, tmp_path: Path, record_property: Report
) -> None:
    undisturbed = made(tmp_path / "undisturbed", name)
    assert undisturbed.drive().status == "completed"
    expected = facts(undisturbed)
    for number, (what, pattern) in enumerate(POINTS[name].items()):
        driven = made(tmp_path / str(number), name)
        line = killed_at(driven, pattern)
        assert re.search(pattern, line), what
        assert driven.drive().status == "completed", what
        assert facts(driven) == expected, what
        check_order(driven)
    record_property("count", f"drive {name}: killed at {len(POINTS[name])} named points")


@pytest.mark.parametrize(
    ("pattern", "asks"),
    [
        (r"entry BRIDLE_EFFECT_STARTED", False),
        (r"kept BRIDLE_EFFECT_STARTED", True),
        (r"write \S+/stdout\.log$", True),
        (r"entry EFFECT_RESOLVED", True),
        (r"kept EFFECT_RESOLVED", False),
    ],
)
def test_a_command_that_may_not_be_repeated_becomes_a_question_when_it_was_under_way(
    pattern: str, asks: bool, tmp_path: Path
) -> None:
    witness = tmp_path / "bin" / "witness"
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return (await ctx.task(shell, {'command': inputs}, label='it'))['stdout']",
        inputs=f"echo it >> {witness}; echo said",
    )
    killed_at(driven, pattern)
    done = driven.drive()
    assert done.status == ("waiting" if asks else "completed")
    if asks:
        before = witness.read_text() if witness.exists() else ""
        assert [question.kind for question in done.questions] == ["doubt"]
        assert (witness.read_text() if witness.exists() else "") == before, "it is not done again unasked"
        assert driven.bridle("answer", driven.effect("it"), "again", "r1").returncode == 0
        assert driven.drive().status == "completed"
    assert driven.output() == "said\n"
    check_order(driven)


def test_a_join_that_was_cut_off_within_a_file_is_finished(tmp_path: Path) -> None:
    driven = made(tmp_path, "two at once")
    killed_at(driven, r"kept BRIDLE_EFFECT_JOINING")
    # What git leaves when it is killed with the driver: one file whole, one cut off, one taken away already.
    (joining,) = [entry for entry in driven.entries() if entry.type == JOINING]
    trees = (str(joining.data["ours"]), str(joining.data["tree"]))
    for name in git(driven.folder, "diff", "--name-only", *trees).split():
        path = driven.folder / name
        if path.exists():
            path.unlink()
        else:
            path.write_text(git(driven.folder, "show", f"{joining.data['tree']}:{name}")[:1])
    assert driven.drive().status == "completed"
    now = read_tree(driven.folder)
    assert (now["first.txt"][1], now["second.txt"][1], now["a.txt"][1]) == (b"1\n", b"2\n", b"one\nmore\n")
    assert now["long.txt"][1].endswith(b"500\n")
    assert "sub/b.txt" not in now
    (branch,) = [ref for ref in refs(driven.folder) if ref.endswith("-before")]
    assert any(branch.removeprefix("refs/heads/") in line for line in driven.messages)
    check_order(driven)


def pids_after(path: Path, before: int, driver: subprocess.Popen[str]) -> list[int]:
    """Return the pids in a file as soon as there are more than before."""

    def pids() -> list[int]:
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        noted = [line.split() for line in lines if line.endswith("\n")]
        return [pid_here(int(pid), namespace, int(start)) for pid, namespace, start in noted]

    wait_until(lambda: len(pids()) > before or driver.poll() is not None)
    assert len(pids()) == before + 1, "the driver ended"
    return pids()


def test_what_a_killed_driver_had_started_is_ended_before_the_next_one_begins(tmp_path: Path) -> None:
    who = "$$ $(readlink /proc/$$/ns/pid) $(cut -d' ' -f22 /proc/$$/stat)"
    busy = f"trap '' TERM; echo {who} >> {tmp_path}/bin/pids; while :; do sleep 0.05; done"
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(again, {'command': inputs}, label='it')",
        inputs=f"[ -e {tmp_path}/bin/enough ] || {{ {busy}; }}",
    )
    pids: list[int] = []
    for _ in range(2):
        with driven.start("drive", "r1") as started:
            pids = pids_after(tmp_path / "bin" / "pids", len(pids), started)
            assert len(pids) == 1 or all_dead(pids[:-1]), "the one before is gone"
            started.kill()
    (tmp_path / "bin" / "enough").touch()
    assert driven.drive().status == "completed"
    assert all_dead(pids)
    assert "was killed; continuing" in driven.messages[0]


def test_what_the_agent_of_a_killed_driver_used_is_in_the_result(tmp_path: Path) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    spends = Script().out(init(), result("half", total_cost_usd=1.5, usage=usage)).sleep()
    driven = new_driven_run(
        tmp_path,
        "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'work'}, label='it')",
        script=Script().on_start(1, spends).out(init(), result("done", total_cost_usd=0.25, usage=usage)),
    )
    with driven.start("drive", "r1") as started:
        logs = driven.folder / ".ralph" / "logs" / "claude"
        wait_until(lambda: any(b'"half"' in log.read_bytes() for log in logs.glob("*.ndjson")))
        started.kill()
    assert driven.drive().cost_usd == 1.75
    metadata = driven.result("it")["metadata"]
    assert (metadata["costUsd"], metadata["inputTokens"], metadata["outputTokens"]) == (1.75, 2000, 200)


def test_a_working_copy_of_a_dead_attempt_is_cleared_and_its_changes_are_kept(tmp_path: Path) -> None:
    told = tmp_path / "bin"
    driven = new_driven_run(
        tmp_path,
        TWO_AT_ONCE,
        inputs={
            "first": f"$ [ -e {told}/enough ]"
            f" || {{ echo half > half.txt; git init -q new; echo 1 > new/x; touch {told}/begun; sleep 600; }}",
            "second": "$ true",
        },
    )
    with driven.start("drive", "r1") as started:
        wait_until(lambda: (tmp_path / "bin" / "begun").exists())
        started.kill()
    (tmp_path / "bin" / "enough").touch()
    assert driven.drive().status == "completed"
    assert not (driven.folder / "half.txt").exists()
    (branch,) = [ref for ref in refs(driven.folder) if ref.startswith("refs/heads/bridle/kept/")]
    assert git(driven.folder, "show", f"{branch}:half.txt") == "half\n"
    assert any(branch.removeprefix("refs/heads/") in line for line in driven.messages)
    (kept,) = (driven.folder / ".ralph/kept").iterdir()
    assert (kept / "new/x").read_text() == "1\n"
    assert any(str(kept) in line for line in driven.messages)
    assert worktrees(driven.folder) == []


# Drives until it is killed, and says when it begins.
BUSY = """
import asyncio, os, sys
from pathlib import Path
from bridle.engine.drive.agent_request import AgentDefaults
from bridle.engine.drive.driver import Driver, DriveOptions
from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.sandbox import chosen_sandbox
run, writable = map(Path, sys.argv[1:])
hooks = Hooks(repository_of(run), os.environ)
options = DriveOptions(concurrency=2, agents=AgentDefaults(sandbox=chosen_sandbox(writable)))
print("begun", flush=True)
asyncio.run(Driver(lambda: FileStore(run), run, hooks, options).drive())
print("done", flush=True)
"""
MANY = """
async def process(inputs, ctx):
    done = []
    for number in range(inputs["rounds"]):
        line = f"echo c{number} >> {inputs['witness']}; echo {number}"
        done.append((await ctx.task(again, {"command": line}, label=f"c{number}"))["stdout"])
        prompts = {name: f"$ echo {name} >> {inputs['witness']}; echo {number} > {name}" for name in
                   (f"a{number}", f"b{number}")}
        await asyncio.gather(*(ctx.task(agent, {"prompt": prompts[name]}, label=name) for name in prompts))
    return done
"""


def test_killed_at_any_moment_again_and_again_the_run_ends_as_if_nothing_had_happened(
    tmp_path: Path, record_property: Report
) -> None:
    chance = Random(2026)  # noqa: S311  # the same moments, as far as a machine allows
    kills = runs = 0
    while kills < SIZES.random_kills:
        runs += 1
        folder = tmp_path / str(runs)
        driven = new_driven_run(
            folder, MANY, inputs={"rounds": SIZES.rounds_between_kills, "witness": str(folder / "bin" / "witness")}
        )
        while kills < SIZES.random_kills and killed_while_busy(driven, chance):
            kills += 1
        assert driven.drive().status == "completed"
        assert driven.output() == [f"{number}\n" for number in range(SIZES.rounds_between_kills)]
        for number in range(SIZES.rounds_between_kills):
            for name in (f"a{number}", f"b{number}"):
                assert (driven.folder / name).read_text() == f"{number}\n"
        check_order(driven)
    record_property("count", f"drive: {kills} random kills in {runs} runs")


def killed_while_busy(driven: DrivenRun, chance: Random) -> bool:
    """Kill a driver at some moment of its work; False where it was done before."""
    command = [sys.executable, "-c", BUSY, *places(driven)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=driven.environment, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        select.select([process.stdout], [], [], chance.uniform(0, 1.5))  # it says nothing more until it is done
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
    return rest == b"" and process.returncode == -signal.SIGKILL
