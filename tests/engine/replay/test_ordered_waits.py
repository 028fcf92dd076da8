"""What a process waits for in parallel has one order, in any interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.fixtures.iterated_runs import IteratedRun

PARALLEL = """
async def one(ctx, name):
    return await ctx.task(step, {"name": name})

def named(ctx):
    return [one(ctx, f"{number}") for number in range(6)]

async def collect(ctx):
    %s

async def process(inputs, ctx):
    found = await collect(ctx)
    await ctx.task(other, {"found": found})
    return found
"""
# The body of `collect`: each way to wait for several things.
WAYS = {
    "as_completed of coroutines": "return [await first for first in asyncio.as_completed(named(ctx))]",
    "as_completed of a generator": "return [await first for first in asyncio.as_completed(c for c in named(ctx))]",
    "as_completed by name": (
        "from asyncio import as_completed\n    return [await first for first in as_completed(named(ctx))]"
    ),
    "wait for gathered": (
        "done, _ = await asyncio.wait([asyncio.gather(coroutine) for coroutine in named(ctx)])\n"
        "    return [found.result() for found in done]"
    ),
    "wait for ctx.parallel": (
        "done, _ = await asyncio.wait([ctx.parallel.all([lambda c=c: c]) for c in named(ctx)])\n"
        "    return [found.result() for found in done]"
    ),
    "a set of gathered": "return [await one for one in {asyncio.gather(coroutine) for coroutine in named(ctx)}]",
    "wait for plain futures": (
        "futures = [asyncio.Future() for _ in range(6)]\n"
        "    async def fill(number, coroutine):\n"
        "        futures[number].set_result(await coroutine)\n"
        "    filling = [asyncio.create_task(fill(*pair)) for pair in enumerate(named(ctx))]\n"
        "    done, _ = await asyncio.wait(futures)\n"
        "    return [found.result() for found in done] + [done.pop().result(), len(done), len(filling)]"
    ),
    "wait for the first of plain futures": (
        "futures = [asyncio.Future() for _ in range(6)]\n"
        "    async def fill(number, coroutine):\n"
        "        futures[number].set_result(await coroutine)\n"
        "    filling = [asyncio.create_task(fill(*pair)) for pair in enumerate(named(ctx))]\n"
        "    await asyncio.sleep(0)\n"
        "    done, pending = await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)\n"
        "    assert len([*done, *pending]) == len(filling), (done, pending)\n"
        "    assert all(one.done() for one in done) and not any(one.done() for one in pending)\n"
        "    await asyncio.wait(futures)\n"
        "    return [done.pop().result(), len(done)]"
    ),
    "wait for tasks": (
        "done, _ = await asyncio.wait({asyncio.create_task(coroutine) for coroutine in named(ctx)})\n"
        "    return [found.result() for found in done]"
    ),
    "names of tasks": (
        "async def name():\n"
        "        return asyncio.current_task().get_name()\n"
        "    names = await asyncio.gather(*[asyncio.create_task(name()) for _ in range(3)])\n"
        "    return [names, await asyncio.gather(*named(ctx))]"
    ),
}
# Replays a run after other objects have been made, so that addresses and counters differ from the first iteration.
REPLAY = """
import asyncio, sys
from pathlib import Path

async def count():
    return [asyncio.create_task(asyncio.sleep(0)) for _ in range(int(sys.argv[2]))]

asyncio.run(count())
ballast = [object() for _ in range(int(sys.argv[2]))]
from bridle.engine.iterate.compare import compare
print([difference.message for difference in compare(Path(sys.argv[1])).differences])
"""


@pytest.mark.parametrize("way", WAYS)
def test_parallel_requests_and_results_have_one_order_in_every_interpreter(tmp_path: Path, way: str) -> None:
    iterated = IteratedRun(tmp_path, PARALLEL % WAYS[way])
    iterated.iterate()
    for number in (4, 2, 6, 1, 3, 5):
        iterated.post(str(number), f"result {iterated.store.task(iterated.effect(str(number))).inputs}")
    assert [action.effect.step_id for action in iterated.iterate().actions] == ["S000007"]
    for seed, ballast in (("1", "17"), ("2", "1003")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", REPLAY, str(iterated.run), ballast]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
        assert found.stdout == "[]\n"
    requested = [iterated.store.task(effect).inputs for effect in iterated.store.state().effects.values()]
    assert requested[:6] == [{"name": str(number)} for number in range(6)], json.dumps(requested)


@pytest.mark.parametrize(
    "body",
    [
        (
            "members = set(named(ctx))\n    try:\n        asyncio.as_completed(members)\n"
            "    finally:\n        [one.close() for one in members]"
        ),
        "await asyncio.wait({asyncio.Future(), asyncio.Future()})",
    ],
)
def test_a_set_of_objects_without_an_order_is_refused_by_name(tmp_path: Path, body: str) -> None:
    found = IteratedRun(tmp_path, PARALLEL % body, in_memory=True).iterate()
    assert found.failure is not None
    assert found.failure.name == "NotInProcess"
    assert "with a set of" in found.failure.message


def test_other_event_loops_wait_as_before(tmp_path: Path) -> None:
    source = """
import asyncio, sys
from bridle.engine.replay import ordered_waits
ordered_waits.install()

async def value(number):
    await asyncio.sleep(0)
    return number

async def main():
    done, pending = await asyncio.wait({asyncio.gather(value(1)), asyncio.create_task(value(2)), asyncio.Future()},
                                       return_when=asyncio.FIRST_COMPLETED, timeout=60)
    assert type(done) is set and done and pending
    assert sorted([await one for one in asyncio.as_completed({value(3), value(4)})]) == [3, 4]
    print("fine")

asyncio.run(main())
"""
    found = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert found.stdout == "fine\n"
