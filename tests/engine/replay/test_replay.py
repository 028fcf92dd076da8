"""Replays are alike: whatever order results come in, whoever iterates when, and after any number of iterations."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.engine.iterate.iteration_report import Iteration
from bridle.errors import DiskError, ProcessDiverged
from bridle.journal.format.entries import Entry, Request
from bridle.journal.stores.file_store import FileWriter
from bridle.journal.stores.store import Store
from tests.engine.fixtures.iterated_runs import IteratedRun

CHAINS = """
async def chain(ctx, name):
    results = []
    for number in range(3):
        results.append(await ctx.task(step, {"chain": name, "number": number, "before": results}))
        ctx.log(f"{name}{number}")
    return results

async def process(inputs, ctx):
    return await asyncio.gather(chain(ctx, "a"), chain(ctx, "b"))
"""

# Every order in which two chains of three steps can get their results.
ORDERS = sorted(set(itertools.permutations("aaabbb")))


def asked(store: Store) -> list[tuple[str, str]]:
    """The steps, with what each was asked for."""
    effects = store.state().effects.values()
    return [(effect.step_id, json.dumps(store.task(effect).inputs)) for effect in effects]


def words(iterated: IteratedRun) -> list[object]:
    return [entry.data["message"] for entry in iterated.entries() if entry.type == "PROCESS_LOG"]


def post_next_of(iterated: IteratedRun, chain: str) -> None:
    """Give the effect of that chain that waits its result."""
    for effect in iterated.store.state().pending:
        inputs: Any = iterated.store.task(effect).inputs
        if inputs["chain"] == chain:
            iterated.post(effect.step_id, f"{chain}{inputs['number']}")
            return
    raise AssertionError(f"nothing of chain {chain} waits")


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_two_chains_replay_alike_whatever_order_their_results_came_in(tmp_path: Path, order: tuple[str, ...]) -> None:
    iterated = IteratedRun(tmp_path, CHAINS, in_memory=True)
    iterated.iterate()
    for chain in order:
        post_next_of(iterated, chain)
        before = asked(iterated.store)
        found = iterated.iterate()
        assert asked(iterated.store)[: len(before)] == before
    assert found.output == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]
    assert words(iterated) == [f"{chain}{order[:place].count(chain)}" for place, chain in enumerate(order)]


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_results_that_came_in_between_iterations_are_delivered_one_by_one(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    """Kept between iterations, started anew for each, or iterated only when there is no other way: the same journal."""
    journals = []
    for name in ("each", "kept", "late"):
        folder = tmp_path / name
        folder.mkdir()
        iterated = IteratedRun(folder, CHAINS, in_memory=True)
        engine = iterated.engine()
        engine.iterate()
        for place, chain in enumerate(order):
            if name == "late" and not any(
                _chain_of(iterated, effect) == chain for effect in iterated.store.state().pending
            ):
                iterated.iterate()
            post_next_of(iterated, chain)
            if name == "each":
                iterated.iterate()
            elif name == "kept":
                engine.iterate()
            assert place >= 0
        final = iterated.iterate()
        engine.close()
        assert final.status == "completed"
        journals.append((sorted(asked(iterated.store)), final.output))
    assert journals[0] == journals[1]
    assert journals[0][1] == journals[2][1]


def _chain_of(iterated: IteratedRun, effect: Any) -> str:
    inputs: Any = iterated.store.task(effect).inputs
    return str(inputs["chain"])


TREE = """
async def branch(ctx, depth, path):
    value = await ctx.task(step, {"path": path})
    if depth == 0:
        return value
    kind = value % 3
    if kind == 0:
        return [value, await asyncio.gather(branch(ctx, depth - 1, path + "l"), branch(ctx, depth - 1, path + "r"))]
    if kind == 1:
        done, pending = await asyncio.wait(
            [asyncio.create_task(branch(ctx, depth - 1, path + side)) for side in "lr"],
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in pending:
            task.cancel()
        return [value, [task.result() for task in done]]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(branch(ctx, depth - 1, path + side)) for side in "lr"]
    ctx.log(path, str(ctx.now()))
    return [value, [task.result() for task in tasks]]

async def process(inputs, ctx):
    return await branch(ctx, 3, "")
"""


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 8), st.booleans()), min_size=1, max_size=40))
def test_any_run_ends_the_same_when_it_is_replayed_from_its_journal(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, int, bool]]
) -> None:
    """Random results in random order, some of several at once: a replay from the start never diverges."""
    iterated = IteratedRun(tmp_path_factory.mktemp("tree"), TREE, in_memory=True)
    engine = iterated.engine()
    found = engine.iterate()
    for which, value, iterates in moves:
        pending = iterated.store.state().pending
        if not pending or found.status == "completed":
            break
        iterated.post(pending[which % len(pending)].step_id, value)
        iterated.clock.move(seconds=1)
        if iterates:
            found = engine.iterate()
    found = engine.iterate()
    count = len(iterated.entries())
    again = iterated.iterate()
    assert _standing(again) == _standing(found)
    assert len(iterated.entries()) == count
    engine.close()


def _standing(found: Iteration) -> tuple[object, ...]:
    return (found.status, found.output, [action.effect.effect_id for action in found.actions])


def test_a_process_that_rolls_dice_is_found_out(tmp_path: Path) -> None:
    iterated = IteratedRun(
        tmp_path,
        f"""
        async def process(inputs, ctx):
            with open({str(tmp_path / "dice")!r}) as file:
                return await ctx.task(step, file.read())
        """,
        in_memory=True,
    )
    (tmp_path / "dice").write_text("one")
    iterated.iterate()
    count = len(iterated.entries())
    (tmp_path / "dice").write_text("two")
    with pytest.raises(ProcessDiverged, match=r'process\.py:12: step S000001 .*"two".*"one"'):
        iterated.iterate()
    assert len(iterated.entries()) == count


def test_an_engine_that_is_kept_takes_in_what_others_did(tmp_path: Path) -> None:
    """Another program iterates and posts between two iterations of a driver."""
    iterated = IteratedRun(tmp_path, CHAINS)
    engine = iterated.engine()
    engine.iterate()
    for chain in "abba":
        post_next_of(iterated, chain)
        iterated.iterate()
    found = engine.iterate()
    assert [action.effect.step_id for action in found.actions] == ["S000005", "S000006"]
    for chain in "ab":
        post_next_of(iterated, chain)
    assert engine.iterate().output == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


def test_an_engine_that_is_kept_starts_anew_when_the_process_changes(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, "async def process(inputs, ctx):\n    return await ctx.task(step, 1)\n")
    engine = iterated.engine()
    engine.iterate()
    iterated.write("async def process(inputs, ctx):\n    return [await ctx.task(step, 1), 'changed']\n")
    iterated.post("1", "value")
    assert engine.iterate().output == ["value", "changed"]
    assert "BRIDLE_PROCESS_CODE" in iterated.types()


def test_an_engine_that_is_kept_runs_nothing_twice(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    iterated = IteratedRun(
        tmp_path,
        f"""
        async def process(inputs, ctx):
            for number in range(5):
                with open({str(witness)!r}, "a") as file:
                    file.write(str(number))
                await ctx.task(step, number)
        """,
    )
    engine = iterated.engine()
    for number in range(1, 6):
        engine.iterate()
        iterated.post(str(number))
    assert engine.iterate().status == "completed"
    assert witness.read_text() == "01234"


def test_a_diverged_engine_goes_on_once_the_code_is_restored(tmp_path: Path) -> None:
    good = "async def process(inputs, ctx):\n    return await ctx.task(step, 1)\n"
    iterated = IteratedRun(tmp_path, good)
    engine = iterated.engine()
    engine.iterate()
    iterated.write(good.replace("step", "other"))
    with pytest.raises(ProcessDiverged):
        engine.iterate()
    with pytest.raises(ProcessDiverged):
        engine.iterate()
    iterated.write(good)
    iterated.post("1", "value")
    assert engine.iterate().output == "value"
    assert iterated.types() == ["EFFECT_REQUESTED", "EFFECT_RESOLVED", "RUN_COMPLETED"]


def test_an_engine_whose_requests_were_recorded_in_part_records_the_others(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx):\n    await asyncio.gather(ctx.task(step, 1), ctx.task(step, 2))\n"
    iterated = IteratedRun(tmp_path, source)
    engine, request = iterated.engine(), FileWriter.request

    def refuse_second(writer: FileWriter, wanted: Request) -> Entry:
        if wanted.step_id == "S000002":
            raise DiskError("the disk is full")
        return request(writer, wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileWriter, "request", refuse_second)
        with pytest.raises(DiskError):
            engine.iterate()
    assert iterated.types() == ["EFFECT_REQUESTED"]
    assert [action.effect.step_id for action in engine.iterate().actions] == ["S000001", "S000002"]
    assert iterated.types() == ["EFFECT_REQUESTED", "EFFECT_REQUESTED"]


def test_a_request_that_is_cancelled_in_the_turn_in_which_it_is_made_is_not_recorded(tmp_path: Path) -> None:
    source = """
    async def process(inputs, ctx):
        ctx.task(step, 1).cancel()
        return await ctx.task(step, 2)
    """
    iterated = IteratedRun(tmp_path, source)
    assert [action.effect.step_id for action in iterated.iterate().actions] == ["S000002"]
    assert iterated.types() == ["EFFECT_REQUESTED"]
    iterated.post("2", "value")
    assert iterated.iterate().output == "value"


def test_a_module_beside_the_process_has_no_memory_of_the_last_iteration(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("seen = []\n")
    iterated = IteratedRun(
        tmp_path,
        """
        async def process(inputs, ctx):
            import beside
            beside.seen.append(1)
            return [await ctx.task(step, len(beside.seen)), len(beside.seen)]
        """,
    )
    iterated.iterate()
    iterated.iterate()
    iterated.post("1", "value")
    assert iterated.iterate().output == ["value", 1]


def numbered() -> Iterator[str]:
    yield from (f"S{number:06d}" for number in itertools.count(1))


def test_steps_are_numbered_when_they_are_called_and_not_when_they_are_awaited(tmp_path: Path) -> None:
    iterated = IteratedRun(
        tmp_path,
        """
        async def process(inputs, ctx):
            first, second, third = (ctx.task(step, n) for n in (1, 2, 3))
            return [await third, await first, await second]
        """,
        in_memory=True,
    )
    found = iterated.iterate()
    assert [action.effect.step_id for action in found.actions] == list(itertools.islice(numbered(), 3))
    assert [action.task.inputs for action in found.actions] == [1, 2, 3]


def test_processes_on_several_threads_do_not_see_each_other(tmp_path: Path) -> None:
    benches = []
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "beside.py").write_text(f"WORD = {name!r}\n")
        source = """
            async def process(inputs, ctx):
                for number in range(20):
                    import beside
                    await ctx.task(step, {"word": beside.WORD, "number": number})
                return beside.WORD
            """
        benches.append(IteratedRun(folder, source, in_memory=True))

    def work(iterated: IteratedRun) -> object:
        for number in range(1, 21):
            iterated.iterate()
            iterated.post(str(number))
        return iterated.iterate().output

    with ThreadPoolExecutor(len(benches)) as pool:
        assert list(pool.map(work, benches)) == ["one", "two", "three"]
    assert "beside" not in sys.modules
