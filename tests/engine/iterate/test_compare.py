"""A run is run again from its journal: it agrees, or the entry, the file and the line are named; nothing is written."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from bridle.engine.iterate.compare import Comparison, compare
from bridle.errors import JournalBroken
from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.journal.fixtures.recorded_samples import contents

CHAINS = """
async def chain(ctx, name):
    first = await ctx.task(step, {"chain": name, "number": 1})
    return [first, await ctx.task(step, {"chain": name, "number": 2})]

async def process(inputs, ctx):
    ctx.log("begins")
    told = await ctx.hook("custom", {"at": ctx.now().isoformat()})
    await ctx.sleep_until("2020-01-01T00:00:00Z")
    both = await asyncio.gather(chain(ctx, "a"), chain(ctx, "b"))
    gate = await ctx.breakpoint({"question": "Done?"}, key="gate")
    %s
"""
RETURNS = "return [both, gate, told['status']]"


def made(folder: Path, last: str = RETURNS, *, until: str = "end") -> IteratedRun:
    """A run of two chains, up to where it waits for `first`, `gate`, or to its end."""
    iterated = IteratedRun(folder, CHAINS % last)
    iterated.iterate()
    if until == "first":
        return iterated
    for order in (("3", "2"), ("4", "5")):
        for number in order:
            iterated.post(number, {"of": number})
        iterated.iterate()
    if until == "gate":
        return iterated
    iterated.post("gate", {"approved": True})
    iterated.iterate()
    return iterated


def compared(iterated: IteratedRun) -> Comparison:
    """Compare, and see that nothing at all was written."""
    before = contents(iterated.run)
    found = compare(iterated.run)
    assert contents(iterated.run) == before
    return found


@pytest.mark.parametrize(
    ("last", "until", "state"),
    [
        (RETURNS, "end", "completed"),
        (RETURNS, "gate", "waiting"),
        (RETURNS, "first", "waiting"),
        ("raise ValueError('no good')", "end", "failed"),
        ("return {1, 2}", "end", "failed"),
        ("await ctx.halt('enough', {'n': 1})", "end", "halted"),
    ],
)
def test_a_run_agrees_with_itself_in_every_state(tmp_path: Path, last: str, until: str, state: str) -> None:
    iterated = made(tmp_path, last, until=until)
    found = compared(iterated)
    assert found.differences == ()
    assert found.state == state
    assert found.effects == len(iterated.store.state().effects)
    assert (found.ahead, found.code_changed) == (0, False)


@pytest.mark.parametrize("final", ["halted", "failed"])
def test_a_run_that_was_ended_manually_agrees(tmp_path: Path, final: str) -> None:
    iterated = made(tmp_path, until="gate")
    with FileStore(iterated.run).write("the test") as writer:
        if final == "halted":
            writer.append("RUN_HALTED", {"reason": "by hand"})
        else:
            writer.append("RUN_FAILED", {"manual_seal_reason": "x", "error": {"name": "ManualHalt", "message": "x"}})
    assert compared(iterated).agrees


def test_results_that_are_not_iterated_yet_are_no_difference(tmp_path: Path) -> None:
    iterated = made(tmp_path, until="first")
    iterated.post("2", {"of": "2"})
    found = compared(iterated)
    assert found.agrees
    assert found.ahead == 1


def test_no_hook_runs_again(tmp_path: Path) -> None:
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter/hooks/custom/a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"echo ran >> {tmp_path}/ran\n")
    iterated = made(tmp_path)
    assert compared(iterated).agrees
    assert (tmp_path / "ran").read_text() == "ran\n"


@pytest.mark.parametrize(
    ("old", "new", "entry_type", "words"),
    [
        ('"number": 2}', '"number": 3}', "EFFECT_REQUESTED", r"S00000[45] requests task 'step'"),
        ("ctx.task(step, {", "ctx.task(other, {", "EFFECT_REQUESTED", "requests task 'other'"),
        ('"custom"', '"another"', "BRIDLE_HOOK_REQUESTED", "is of type 'another'"),
        ("2020-01-01", "2020-01-02", "BRIDLE_SLEEP_PASSED", "until 2020-01-01"),
        (', key="gate"', "", "EFFECT_REQUESTED", "does not request what is recorded: gate __sdk.breakpoint"),
        ("return [both,", "return [gate,", "RUN_COMPLETED", "the process returns"),
        ("return [both,", "raise ValueError('new')  # [", "RUN_COMPLETED", "fails with ValueError: new"),
        ("return [both,", "await ctx.task(step, {'more': 1}); return [both,", "RUN_COMPLETED", "waits for 1 effect"),
        ("return [both,", "await ctx.halt('no'); return [both,", "RUN_COMPLETED", "halts with"),
    ],
)
def test_a_decision_that_differs_is_named_with_its_entry_and_its_line(
    tmp_path: Path, old: str, new: str, entry_type: str, words: str
) -> None:
    iterated = made(tmp_path)
    source = iterated.process.read_text()
    assert old in source
    iterated.process.write_text(source.replace(old, new))
    found = compared(iterated)
    assert not found.agrees
    assert found.code_changed
    first = found.differences[0]
    assert first.entry is not None
    entry = json.loads((iterated.run / "journal" / first.entry).read_text())
    assert entry["type"] == entry_type
    assert f"{iterated.process}:" in first.message
    assert re.search(words, first.message), first.message


def test_a_changed_output_is_refused(tmp_path: Path) -> None:
    iterated = made(tmp_path)
    output = iterated.run / "state/output.json"
    output.write_text(output.read_text().replace("true", "false"))
    with pytest.raises(JournalBroken, match=f"{output} of this run is invalid: it was changed"):
        compared(iterated)


def test_a_long_run_is_compared_without_a_trace(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    return [await ctx.task(step, {"n": n}) for n in range(60)]
"""
    iterated = IteratedRun(tmp_path, source)
    for number in range(1, 61):
        iterated.iterate()
        iterated.post(str(number), number)
    iterated.iterate()
    (iterated.run / "state/bridle.pack").unlink()
    assert compared(iterated).agrees
