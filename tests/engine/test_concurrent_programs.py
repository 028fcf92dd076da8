"""Sixteen programs iterate, post and append to one run at the same time; it ends as if there had been one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bridle.journal.format.state import fold
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.sizes import SIZES

Report = Callable[[str, object], None]

ROOT = Path(__file__).parents[2]
# Everybody waits for everybody else's turn, on a machine that may be busy with other tests.
LIMIT_SECONDS = 600
ITERATING, POSTING, APPENDING = 4, 8, 4

PROCESS = """
async def chain(ctx, name, length):
    results = []
    for number in range(length):
        results.append(await ctx.task(step, {"chain": name, "number": number}))
    told = await ctx.hook("custom", {"chain": name})
    return [results, told["output"]]

async def process(inputs, ctx):
    return await asyncio.gather(*(chain(ctx, name, inputs["length"]) for name in range(inputs["chains"])))
"""

# What one of them does until the run has completed.
WORKER = """
import os, sys
from pathlib import Path
from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import iterate
from bridle.errors import EffectError
from bridle.journal.format.entries import Posted
from bridle.journal.stores.file_store import FileStore

role, run = sys.argv[1], Path(sys.argv[2])
store = FileStore(run)
sys.stdin.readline()
appends = 0
while store.position().end is None:
    if role == "iterate":
        iterate(store, run, Hooks(repository_of(run), os.environ), wait_seconds=300)
    elif role == "post":
        for effect in store.state().pending:
            effect_id, value = effect.effect_id, {"of": store.task(effect).inputs, "by": os.getpid()}
            try:
                with store.write("storm", wait_seconds=300) as writer:
                    writer.resolve(effect_id, Posted("ok", value=value, started_at="x", finished_at="x"))
            except EffectError:
                continue  # somebody else was faster
            print(effect_id, os.getpid(), flush=True)
    elif appends < 20:
        appends += 1
        with store.write("storm", wait_seconds=300) as writer:
            writer.append("BRIDLE_STORM", {"by": os.getpid()})
"""


def test_a_storm_ends_as_if_one_had_done_it_all(tmp_path: Path, record_property: Report) -> None:
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter" / "hooks" / "custom" / "a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f'echo ran >> {tmp_path / "witness"}\necho "$HOOK_PAYLOAD"\n')
    chains, length = 3, SIZES.storm_posts
    iterated = IteratedRun(tmp_path, PROCESS, inputs={"chains": chains, "length": length})
    acknowledged = storm(iterated.run)
    entries = list(FileReader(iterated.run).entries())
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    state = fold(entries)
    assert state.position.end == "completed"
    assert sum(entry.type == "RUN_COMPLETED" for entry in entries) == 1
    assert len(state.effects) == len(state.resolved) == chains * length
    assert sorted(acknowledged) == sorted(state.effects)
    for effect_id, pid in acknowledged.items():
        value = FileStore(iterated.run).result(state.effects[effect_id]).value
        assert isinstance(value, dict)
        assert value["by"] == pid
    assert (tmp_path / "witness").read_text().splitlines() == ["ran"] * chains
    count = len(entries)
    assert iterated.iterate().status == "completed"
    assert len(iterated.entries()) == count
    record_property("count", f"storm of iterations: {ITERATING + POSTING + APPENDING} programs, {count} entries")


def storm(run: Path) -> dict[str, int]:
    """The posts that were acknowledged, with the program that made each."""
    roles = ["iterate"] * ITERATING + ["post"] * POSTING + ["append"] * APPENDING
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, role, str(run)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for role in roles
    ]
    try:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        outputs = [worker.communicate(timeout=LIMIT_SECONDS)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * len(workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    lines = [line.split() for output in outputs for line in output.splitlines()]
    assert len(lines) == len({effect_id for effect_id, _ in lines}), "an effect was acknowledged twice"
    return {effect_id: int(pid) for effect_id, pid in lines}
