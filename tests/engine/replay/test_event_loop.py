"""The loop: what asyncio offers works on it, what the world outside would bring in is refused."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from bridle.engine.replay.event_loop import Promise, ReplayLoop
from bridle.errors import InternalError
from tests.engine.fixtures.iterated_runs import IteratedRun

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60


def outcome_of(folder: Path, body: str) -> object:
    """What a process with this body returns; it asks for nothing."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    iterated = IteratedRun(folder, f"async def process(inputs, ctx):\n{lines}\n", in_memory=True)
    found = iterated.iterate()
    assert found.status == "completed", found.failure
    return found.output


@pytest.mark.parametrize(
    ("body", "way"),
    [
        ("await asyncio.sleep(1)", "ctx.sleep_until"),
        ("await asyncio.wait_for(ctx.task(step), 5)", "ctx.sleep_until"),
        ("async with asyncio.timeout(5):\n    pass", "ctx.sleep_until"),
        ("await asyncio.wait({ctx.task(step)}, timeout=5)", "ctx.sleep_until"),
        ("asyncio.get_running_loop().call_later(1, print)", "ctx.sleep_until"),
        ("asyncio.get_running_loop().time()", "ctx.now()"),
        ("await asyncio.to_thread(print)", "kind 'python'"),
        ("await asyncio.get_running_loop().run_in_executor(None, print)", "kind 'python'"),
        ("import threading; threading.Thread(target=print).start()", "kind 'python'"),
        (
            "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print)",
            "kind 'python'",
        ),
        ("await asyncio.open_connection('127.0.0.1', 1)", "kind 'python'"),
        ("await asyncio.start_server(print, '127.0.0.1', 0)", "kind 'python'"),
        ("import socket; socket.socket()", "kind 'python'"),
        ("import socket; socket.getaddrinfo('localhost', 80)", "kind 'python'"),
        ("import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/')", "kind 'python'"),
        ("await asyncio.create_subprocess_exec('true')", "kind 'shell'"),
        ("await asyncio.create_subprocess_shell('true')", "kind 'shell'"),
        ("import subprocess; subprocess.run(['true'])", "kind 'shell'"),
        ("import os; os.system('true')", "kind 'shell'"),
        ("import os; os.fork()", "kind 'shell'"),
        ("import os; os.execv('/bin/true', ['true'])", "kind 'shell'"),
        ("import os; os.posix_spawn('/bin/true', ['true'], {})", "kind 'shell'"),
        ("asyncio.get_running_loop().add_signal_handler(2, print)", "ctx.breakpoint"),
        ("asyncio.get_running_loop().run_until_complete(None)", "the run ends when the process returns"),
        ("asyncio.get_running_loop().stop()", "the run ends when the process returns"),
    ],
)
def test_what_no_replay_could_repeat_is_refused_with_the_way_to_do_it(tmp_path: Path, body: str, way: str) -> None:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    source = f"""\
async def process(inputs, ctx):
    from bridle.errors import NotInProcess
    try:
{lines}
    except Exception as error:
        while error is not None and not isinstance(error, NotInProcess):
            error = error.__cause__ or error.__context__ or getattr(error, "reason", None)
        return str(error)
"""
    iterated = IteratedRun(tmp_path, source, in_memory=True)
    found = iterated.iterate()
    if found.actions:  # the task that the process gave up on
        iterated.post("1")
        found = iterated.iterate()
    assert "inside a process" in str(found.output)
    assert way in str(found.output)


WORKS = {
    "sleep of nothing": ("return await asyncio.sleep(0, 1)", 1),
    "wait_for without a time": ("return await asyncio.wait_for(asyncio.sleep(0, 7), None)", 7),
    "timeout without a time": ("async with asyncio.timeout(None):\n    return 2", 2),
    "gather": ("return await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3)))", [0, 1, 2]),
    "gather of nothing": ("return await asyncio.gather()", []),
    "shield": ("return await asyncio.shield(asyncio.sleep(0, 3))", 3),
    "as_completed": ("return [await one for one in asyncio.as_completed([asyncio.sleep(0, 4)])]", [4]),
    "parallel.all of nothing": ("return await ctx.parallel.all([])", []),
    "parallel.all": ("return await ctx.parallel.all([lambda: 1, lambda: asyncio.sleep(0, 2)])", [1, 2]),
    "parallel.all of awaitables": ("return await ctx.parallel.all([asyncio.sleep(0, 3)])", [3]),
    "parallel.map": ("return await ctx.parallel.map([1, 2], lambda n: n * 2)", [2, 4]),
    "TaskGroup": (
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0, n)) for n in (1, 2)]
        return [task.result() for task in tasks]
        """,
        [1, 2],
    ),
    "Event": (
        """
        event = asyncio.Event()
        async def wake():
            event.set()
        task = asyncio.create_task(wake())
        await event.wait()
        return task.done()
        """,
        True,
    ),
    "Queue": (
        """
        queue = asyncio.Queue(1)
        async def fill():
            for n in range(3):
                await queue.put(n)
        task = asyncio.create_task(fill())
        return [await queue.get() for _ in range(3)]
        """,
        [0, 1, 2],
    ),
    "Lock": (
        """
        lock, order = asyncio.Lock(), []
        async def one(n):
            async with lock:
                await asyncio.sleep(0)
                order.append(n)
        await asyncio.gather(one(1), one(2), one(3))
        return order
        """,
        [1, 2, 3],
    ),
    "Semaphore": (
        """
        room, inside, most = asyncio.Semaphore(2), 0, 0
        async def one():
            nonlocal inside, most
            async with room:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1
        await asyncio.gather(one(), one(), one())
        return most
        """,
        2,
    ),
    "context variables": (
        """
        import contextvars
        name = contextvars.ContextVar("name", default=0)
        async def inner():
            name.set(1)
        await asyncio.create_task(inner())
        return name.get()
        """,
        0,
    ),
    "cancel": (
        """
        task = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        """,
        "cancelled",
    ),
    "an async generator that is left": (
        """
        seen = []
        async def numbers():
            try:
                for n in range(5):
                    yield n
            finally:
                seen.append("closed")
        async for n in numbers():
            break
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return seen
        """,
        ["closed"],
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_what_asyncio_offers_for_waiting_on_each_other_works(tmp_path: Path, name: str) -> None:
    body, expected = WORKS[name]
    assert outcome_of(tmp_path, textwrap.dedent(body)) == expected


def test_a_promise_can_be_given_to_whatever_takes_a_coroutine(tmp_path: Path) -> None:
    iterated = IteratedRun(
        tmp_path,
        """
        async def process(inputs, ctx):
            first = asyncio.create_task(ctx.task(step, 1))
            async with asyncio.TaskGroup() as group:
                second = group.create_task(ctx.task(step, 2))
            return [await first, second.result()]
        """,
        in_memory=True,
    )
    iterated.iterate()
    iterated.post("1", "a")
    iterated.post("2", "b")
    assert iterated.iterate().output == ["a", "b"]


def test_the_set_that_wait_returns_has_the_same_order_in_every_replay(tmp_path: Path) -> None:
    source = """
        async def process(inputs, ctx):
            promises = {ctx.task(step, n): n for n in range(20)}
            done, _ = await asyncio.wait(promises)
            return [promises[one] for one in done]
        """
    orders: list[object] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        padding = [Promise(loop=ReplayLoop()) for _ in range(len(orders) * 1000 + 1)]  # other addresses in memory
        iterated = IteratedRun(folder, source, in_memory=True)
        iterated.iterate()
        for number in range(1, 21):
            iterated.post(str(number))
        orders.append(iterated.iterate().output)
        assert padding
    assert orders[0] == orders[1]


def test_a_process_that_never_rests_is_stopped(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx):\n    while True:\n        await asyncio.sleep(0)\n"
    iterated = IteratedRun(tmp_path, source, in_memory=True)
    with pytest.raises(Exception, match="without waiting for a result"):
        iterated.iterate()
    assert iterated.types() == []


def test_other_threads_are_not_fenced_in() -> None:
    loop = ReplayLoop()
    started: list[int] = []

    def start_another() -> None:
        inner = threading.Thread(target=lambda: started.append(1))
        inner.start()
        inner.join(LIMIT_SECONDS)
        started.append(subprocess.run(["true"], timeout=LIMIT_SECONDS).returncode)

    outer = threading.Thread(target=start_another)
    ready = threading.Event()
    outer_run = outer.run

    def run_when_ready() -> None:
        assert ready.wait(LIMIT_SECONDS)
        outer_run()

    outer.run = run_when_ready  # type: ignore[method-assign]  # the thread has to be there before the fence is
    outer.start()
    with loop.running():
        ready.set()
        outer.join(LIMIT_SECONDS)
    assert started == [1, 0]


def test_the_loop_is_not_run_inside_of_another() -> None:
    async def inside() -> None:
        with pytest.raises(InternalError, match="inside a running event loop"), ReplayLoop().running():
            pass

    asyncio.run(inside())


def test_what_was_set_before_is_set_again_afterwards() -> None:
    loop = ReplayLoop()
    hooks = sys.get_asyncgen_hooks()
    with loop.running():
        assert not gc.isenabled()
        assert asyncio.get_running_loop() is loop
    assert gc.isenabled()
    assert sys.get_asyncgen_hooks() == hooks
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


SUSPENDED = {
    "the process itself": """
        async def process(inputs, ctx):
            try:
                await ctx.task(step)
            finally:
                note("finally")
        """,
    "a function it awaits": """
        async def inner(ctx):
            try:
                await ctx.task(step)
            finally:
                note("finally")

        async def process(inputs, ctx):
            await inner(ctx)
        """,
    "what it gathers": """
        async def inner(ctx):
            try:
                await ctx.task(step)
            finally:
                note("finally")

        async def process(inputs, ctx):
            await asyncio.gather(inner(ctx), inner(ctx))
        """,
    "a task that waits for something nobody holds": """
        async def inner():
            try:
                await asyncio.Event().wait()
            finally:
                note("finally")

        async def process(inputs, ctx):
            asyncio.create_task(inner())
            await ctx.task(step)
        """,
    "a context manager": """
        class Manager:
            async def __aenter__(self): return self
            async def __aexit__(self, *error): note("exit")

        async def process(inputs, ctx):
            async with Manager():
                await ctx.task(step)
        """,
    "an except clause for everything": """
        async def process(inputs, ctx):
            try:
                await ctx.task(step)
            except BaseException:
                note("except")
                raise
        """,
    "an async generator": """
        async def numbers(ctx):
            try:
                yield await ctx.task(step)
            finally:
                note("finally")

        async def process(inputs, ctx):
            async for number in numbers(ctx):
                pass
        """,
    "an async generator that is held half-way": """
        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                note("finally")

        async def process(inputs, ctx):
            held = numbers()
            await anext(held)
            await ctx.task(step)
        """,
}


@pytest.mark.parametrize("name", SUSPENDED)
@pytest.mark.parametrize("ending", ["exit", "collect", "keyboard interrupt", "kept"])
def test_nothing_of_a_suspended_process_runs_because_the_iteration_ended(
    tmp_path: Path, name: str, ending: str
) -> None:
    witness = tmp_path / "witness"
    note = f"def note(word):\n    with open({str(witness)!r}, 'a') as file:\n        file.write(word)\n"
    iterated = IteratedRun(tmp_path, note)
    iterated.process.write_text(iterated.process.read_text() + textwrap.dedent(SUSPENDED[name]))
    ends = {
        "exit": "",
        "collect": "import gc; found = None; gc.collect()",
        "keyboard interrupt": "raise KeyboardInterrupt",
        "kept": "engine.close = None",
    }
    code = f"""
import os, sys
from pathlib import Path
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import Engine
from bridle.journal.stores.file_store import FileStore

run = Path({str(iterated.run)!r})
engine = Engine(FileStore(run), run, Hooks(run, {{}}))
found = engine.iterate()
assert found.status == "executed", found
if {ending!r} != "kept":
    engine.close()
    engine = None
try:
    {ends[ending] or "pass"}
except KeyboardInterrupt:
    sys.exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not witness.exists()


def test_what_was_suspended_runs_on_when_its_result_comes(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    iterated = IteratedRun(
        tmp_path,
        f"""
        async def process(inputs, ctx):
            try:
                return await ctx.task(step)
            finally:
                with open({str(witness)!r}, "a") as file:
                    file.write("finally")
        """,
    )
    iterated.iterate()
    iterated.iterate()
    assert not witness.exists()
    iterated.post("1", "done")
    assert iterated.iterate().output == "done"
    assert witness.read_text() == "finally"
