from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bridle.ground.children import child_process
from bridle.ground.children.child_process import Spawn
from bridle.ground.ids import new_token

# A test that takes longer than this has hung.
HANG_SECONDS = 60

SLOW_READER = """
import os, time
size = 0
while part := os.read(0, 65536):
    size += len(part)
    time.sleep(0.1)
print(size)
"""


def test_a_slow_reader_of_a_long_message_is_waited_for_as_long_as_it_reads() -> None:
    async def story() -> None:
        argv = (sys.executable, "-c", SLOW_READER)
        child = await child_process.start(Spawn(argv, Path.cwd(), dict(os.environ), new_token(), has_stdin=True))
        try:
            async with asyncio.timeout(HANG_SECONDS):
                # Reading it all takes three seconds, and no single read as long as the limit.
                await child.write(b"x" * 2_000_000, limit_seconds=2.0)
                await child.close_stdin()
                output = b""
                while part := await child.read():  # an unbuffered Python writes the end of the line by itself
                    output += part
                assert output == b"2000000\n"
        finally:
            await child.close()

    asyncio.run(story())
