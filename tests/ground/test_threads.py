"""Work in threads: one that is done is used again, and nothing of one piece of work is left to the next."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from bridle.ground import threads
from bridle.ground.threads import in_thread

LIMIT_SECONDS = 30.0

VALUE: ContextVar[str] = ContextVar("value")


def who() -> int:
    return threading.get_ident()


def test_a_thread_that_is_done_is_used_again() -> None:
    async def story() -> list[int]:
        return [await in_thread(who, name="work") for _ in range(20)]

    assert len(set(asyncio.run(story()))) == 1


def test_work_that_goes_on_at_the_same_time_has_a_thread_of_its_own() -> None:
    together = threading.Barrier(20, timeout=LIMIT_SECONDS)

    def meet() -> int:
        together.wait()
        return who()

    async def story() -> list[int]:
        return await asyncio.gather(*(in_thread(meet, name="work") for _ in range(20)))

    assert len(set(asyncio.run(story()))) == 20


def test_a_thread_has_the_name_of_its_work_and_then_none() -> None:
    async def story() -> list[str]:
        return [await in_thread(lambda: threading.current_thread().name, name=name) for name in ("one", "two")]

    assert asyncio.run(story()) == ["one", "two"]
    assert threads.IDLE_NAME in {thread.name for thread in threading.enumerate()}


def test_what_one_piece_of_work_sets_is_nothing_to_the_next() -> None:
    async def story() -> str:
        VALUE.set("of the loop")
        await in_thread(lambda: VALUE.set("of the first"), name="first")
        return await in_thread(lambda: VALUE.get("nothing"), name="second")

    assert asyncio.run(story()) == "nothing"


def test_an_error_is_raised_where_the_work_is_awaited_and_the_thread_goes_on() -> None:
    def fail() -> int:
        raise SystemExit(f"from {who()}")

    async def story() -> tuple[str, int]:
        with pytest.raises(SystemExit) as failed:
            await in_thread(fail, name="fails")
        return str(failed.value), await in_thread(who, name="works")

    words, thread = asyncio.run(story())
    assert words == f"from {thread}"


def test_a_thread_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.01)
    before = {thread.ident for thread in threading.enumerate()}
    together = threading.Barrier(9, timeout=LIMIT_SECONDS)

    async def story() -> None:
        await asyncio.gather(*(in_thread(together.wait, name="work") for _ in range(9)))

    asyncio.run(story())
    deadline = time.monotonic() + LIMIT_SECONDS
    while {thread.ident for thread in threading.enumerate()} - before:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)


def test_work_is_done_whether_its_thread_is_about_to_end_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.0005)

    async def story() -> int:
        done = 0
        for number in range(400):
            done += await in_thread(lambda: 1, name="work")
            await asyncio.sleep(number % 5 * 0.0002)
        return done

    assert asyncio.run(story()) == 400


FORKS = """
import asyncio, os, threading
from bridle.ground.threads import IDLE_NAME, in_thread

async def once():
    return await in_thread(lambda: 7, name="work")

assert asyncio.run(once()) == 7
assert IDLE_NAME in {thread.name for thread in threading.enumerate()}
child = os.fork()
if child == 0:
    os._exit(asyncio.run(once()))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_a_forked_program_does_not_wait_for_the_threads_of_its_parent() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], check=True, timeout=LIMIT_SECONDS)
