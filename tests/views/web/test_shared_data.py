"""Slow work on one run holds back neither the board nor other runs nor actions; work without a receiver is not done."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

from bridle.views.run_data.board import Board, KnownRun
from bridle.views.web.shared_data import SharedData
from bridle.wire.mask import Mask
from tests.cli.fixtures.open_breakpoint import asking
from tests.fixtures.bridle_program import LIMIT_SECONDS


def shared(folder: Path) -> SharedData:
    for name in ("r1", "r2"):
        asking(folder, name)
    runs = [folder / ".a5c/runs" / name for name in ("r1", "r2")]
    return SharedData(Board(lambda: runs, dict(os.environ), Mask(), folder), dict(os.environ), Mask())


def test_slow_work_on_a_run_holds_nothing_else_back(tmp_path: Path) -> None:
    data, is_over = shared(tmp_path), threading.Event()

    async def look() -> tuple[str | None, object, int]:
        slow = asyncio.create_task(data.with_run("r1", lambda _: is_over.wait(LIMIT_SECONDS)))
        while not data._run_locks:  # it has begun
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(LIMIT_SECONDS / 2):
                same = await data.find_run("r1")
                other = await data.with_run("r2", lambda known: known.folder.name)
                count = await data.with_board(lambda board: len(board.runs))
        finally:
            is_over.set()
        assert await slow
        return other, None if same is None else same.folder.name, count

    assert asyncio.run(look()) == ("r2", "r1", 2)


def test_twenty_quick_looks_of_a_page_that_has_left_do_no_work(tmp_path: Path) -> None:
    data, done = shared(tmp_path), []

    async def gone() -> bool:
        return True

    def work(known: KnownRun) -> bool:
        done.append(known.folder.name)
        return True

    async def look() -> list[bool | None]:
        return list(await asyncio.gather(*(data.with_run("r1", work, is_gone=gone) for _ in range(20))))

    assert asyncio.run(look()) == [None] * 20
    assert done == []
