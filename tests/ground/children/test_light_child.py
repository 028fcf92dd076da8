from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bridle.errors import ProcessError
from bridle.ground.children import light_child
from bridle.ground.children.light_child import LightChild
from bridle.ground.children.spawn import Spawn, SpawnFailure
from bridle.ground.descendants import terminate
from bridle.ground.ids import new_token
from bridle.ground.threads import in_thread, wait_uncancelled

# A test that takes longer than this has hung.
HANG_SECONDS = 60


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await story()

    asyncio.run(main())


def begin(script: str, chunks: list[bytes], *, token: str | None = None, keep: tuple[int, ...] = ()) -> LightChild:
    spawn = Spawn(("/bin/sh", "-c", script), Path.cwd(), dict(os.environ), token or new_token())
    return light_child.start(spawn, on_chunk=chunks.append, keep=keep)


def test_both_outputs_come_in_the_order_they_were_printed() -> None:
    async def story() -> None:
        chunks: list[bytes] = []
        one = begin("echo a; echo b >&2; echo c; exit 5", chunks)
        assert await one.wait(HANG_SECONDS) == 5
        await one.drain(limit_seconds=HANG_SECONDS)
        assert one.release()
        assert b"".join(chunks) == b"a\nb\nc\n"

    play(story)


def test_the_wait_has_a_limit_and_the_command_goes_on() -> None:
    async def story() -> None:
        chunks: list[bytes] = []
        one = begin("sleep 300", chunks)
        assert await one.wait(0.05) is None
        await one.end(grace_seconds=0)
        assert await one.wait(HANG_SECONDS) == -9

    play(story)


def test_what_holds_the_output_does_not_hold_the_command_and_is_not_broken() -> None:
    async def story() -> None:
        chunks: list[bytes] = []
        token = new_token()
        ours, theirs = os.pipe()
        go, start = os.pipe()
        # The child prints far more than a pipe can hold, after its command is over, and then says that it could.
        code = f"import os; os.read({go}, 1); os.write(1, b'x' * 1000000); os.write({theirs}, b'done')"
        one = begin(f'{sys.executable} -c "{code}" & echo begun', chunks, token=token, keep=(theirs, go))
        os.close(theirs)
        os.close(go)
        assert await one.wait(HANG_SECONDS) == 0
        await one.drain(limit_seconds=0.05)
        assert not one.release()
        assert b"".join(chunks) == b"begun\n"
        os.write(start, b"x")
        assert await asyncio.to_thread(os.read, ours, 10) == b"done"
        os.close(ours)
        os.close(start)
        assert b"".join(chunks) == b"begun\n"
        while not one.is_over:
            await asyncio.sleep(0.01)
        one.close()  # that it is over does not say that its output was read to the end
        terminate.end_all(token, None, grace_seconds=0)

    play(story)


def test_ending_takes_everything_that_carries_the_token() -> None:
    async def story() -> None:
        chunks: list[bytes] = []
        token = new_token()
        one = begin("setsid sh -c 'trap \"\" TERM; echo deaf; while :; do sleep 0.1; done' & wait", chunks, token=token)
        while b"deaf\n" not in b"".join(chunks):
            await asyncio.sleep(0.01)
        assert terminate.find(token, None) != []
        await one.end(grace_seconds=0.05)
        assert terminate.find(token, None) == []
        await one.end(grace_seconds=0.05)  # a second time is no error

    play(story)


def test_a_tap_that_breaks_is_remembered_and_the_output_goes_on_flowing() -> None:
    async def story() -> None:
        def tap(chunk: bytes) -> None:
            raise ValueError(chunk)

        spawn = Spawn(("/bin/sh", "-c", "seq 100000"), Path.cwd(), dict(os.environ), new_token())
        one = light_child.start(spawn, on_chunk=tap)
        assert await one.wait(HANG_SECONDS) == 0
        await one.drain(limit_seconds=HANG_SECONDS)
        assert isinstance(one.tap_error, ValueError)
        assert one.release()

    play(story)


def test_a_program_that_is_not_there_is_reported() -> None:
    async def story() -> None:
        spawn = Spawn(("/no/such/shell",), Path.cwd(), {}, new_token())
        with pytest.raises(ProcessError) as caught:
            light_child.start(spawn, on_chunk=lambda chunk: None)
        assert isinstance(caught.value.payload, SpawnFailure)
        assert caught.value.payload.about == "program"

    play(story)


def test_the_end_is_noticed_where_the_system_does_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands for a system without process descriptors, which this machine is not.
    monkeypatch.setattr("bridle.ground.children.exit_watch.open_handle", lambda pid: None)

    async def story() -> None:
        chunks: list[bytes] = []
        one = begin("sleep 0.1; echo late", chunks)
        assert await one.wait(HANG_SECONDS) == 0
        await one.drain(limit_seconds=HANG_SECONDS)
        assert b"".join(chunks) == b"late\n"
        assert one.release()
        other = begin("sleep 300", chunks)
        await other.end(grace_seconds=0)
        assert other.exit_code == -9

    play(story)


def test_a_wait_for_a_thread_is_not_cut_short_by_a_cancellation() -> None:
    async def story() -> None:
        gate = threading.Event()
        ended: list[str] = []

        def work() -> str:
            gate.wait(HANG_SECONDS)
            ended.append("work")
            return "done"

        waiting = asyncio.create_task(_kept(wait_uncancelled(in_thread(work, name="work")), ended))
        await asyncio.sleep(0)
        for _ in range(3):
            waiting.cancel()
            await asyncio.sleep(0.01)
        assert not waiting.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ended == ["work", "wait"]

    async def _kept(work: Awaitable[str], ended: list[str]) -> str:
        try:
            return await work
        finally:
            ended.append("wait")

    play(story)


def test_what_a_thread_raises_is_raised_where_it_is_waited_for() -> None:
    async def story() -> None:
        def work() -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await wait_uncancelled(in_thread(work, name="work"))

    play(story)
