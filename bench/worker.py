"""One measurement in a process of its own: `worker.py WORK FILE` prints CPU seconds, peak memory and a count.

It runs in the environments of the peers too, so it imports at its top nothing but the standard library. Imports of
what is measured, and the first calls that build caches, happen before the clock starts.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

CHUNK_BYTES = 256 * 1024
CLAUDITOR_LIMIT_SECONDS = 600  # its own time-out; a run here takes seconds

Work = Callable[[], int]


def bridle_decode(path: Path) -> Work:
    """Bytes to events."""
    from bridle.wire.events.decode import Decoder

    def work() -> int:
        decoder, count = Decoder(), 0
        for chunk in _chunks(path):
            count += len(decoder.feed(chunk))
        return count + len(decoder.end())

    return work


def bridle_judge(path: Path) -> Work:
    """Bytes to events to record to outcome."""
    return _bridle_judge(lambda: _chunks(path))


def bridle_judge_pipe(path: Path) -> Work:
    """Read and decode a child's pipe, as a runner does."""
    return _bridle_judge(lambda: _piped(path))


def msgspec_ceiling(path: Path) -> Work:
    """The decoder that Bridle uses, into the same types, on lines that are cut already, and nothing else."""
    import msgspec

    from bridle.wire.events.events import Plain

    class Other(msgspec.Struct, tag_field="type", tag="system"):
        subtype: str

    decode = msgspec.json.Decoder(Other | Plain).decode

    with path.open("rb") as stream:
        lines = stream.readlines()

    def work() -> int:
        count = 0
        for line in lines:
            decode(line)
            count += 1
        return count

    return work


def json_loads(path: Path) -> Work:
    """The standard library, without any types."""

    def work() -> int:
        with path.open("rb") as stream:
            return sum(1 for line in stream if json.loads(line))

    return work


def sdk(path: Path) -> Work:
    """claude-agent-sdk: its parse_message over json.loads of text lines."""
    from claude_agent_sdk._internal.message_parser import parse_message  # type: ignore[import-not-found]  # of the peer's environment

    def work() -> int:
        count = 0
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                parse_message(json.loads(line))
                count += 1
        return count

    return work


def clauditor(path: Path) -> Work:
    """clauditor: its parser can only be reached through the program that it starts, so that program is `cat`."""
    from clauditor._harnesses._claude_code import ClaudeCodeHarness  # type: ignore[import-not-found]  # the same

    program = Path(tempfile.mkdtemp()) / "claude"
    program.write_text(f"#!/bin/sh\nexec cat '{path}'\n", encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    harness = ClaudeCodeHarness(claude_bin=str(program))

    def work() -> int:
        done = harness.invoke("x", cwd=None, env=None, timeout=CLAUDITOR_LIMIT_SECONDS)
        assert done.exit_code == 0
        assert done.error is None, done.error
        return len(done.stream_events)

    return work


def run_core(path: Path) -> Work:
    """The runner's core: the program is started, its bytes are logged, decoded and folded."""
    from bridle.run.attempt import Attempt
    from bridle.run.command import Command
    from bridle.run.logs import RunLog
    from bridle.run.request import Request

    async def one(folder: Path, moment: datetime) -> int:
        request = Request("x", folder)
        log = RunLog.create(request, moment)
        attempt = Attempt(request, Command((str(path),), dict(os.environ), ""), log)
        async for _events in attempt.batches():
            pass
        log.close()
        assert attempt.exit_code == 0, attempt.stderr
        assert attempt.fault is None, attempt.fault
        return attempt.record.events

    def work() -> int:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            return asyncio.run(one(Path(folder), datetime.now(UTC)))

    return work


def run_transport(path: Path) -> Work:
    """The program is started, its bytes are read and split into lines, and nothing else."""
    from bridle.ground import ids
    from bridle.ground.children import child_process
    from bridle.wire.events.lines import Lines

    async def one() -> int:
        child = await child_process.start(
            child_process.Spawn((str(path),), path.parent, dict(os.environ), ids.new_token())
        )
        lines, count = Lines(), 0
        try:
            while (chunk := await child.read()) is not None:
                count += len(lines.feed(chunk))
        finally:
            await child.close()
        return count + len(lines.end())

    return lambda: asyncio.run(one())


def sdk_transport(path: Path) -> Work:
    """claude-agent-sdk: its transport, which starts the program, splits its lines and calls json.loads."""
    from claude_agent_sdk import ClaudeAgentOptions  # type: ignore[import-not-found]  # of the peer's environment
    from claude_agent_sdk._internal.transport.subprocess_cli import (  # type: ignore[import-not-found]  # the same
        SubprocessCLITransport,
    )

    async def one() -> int:
        transport = SubprocessCLITransport("x", ClaudeAgentOptions(cli_path=str(path), cwd=str(path.parent)))
        await transport.connect()
        count = 0
        async for _message in transport.read_messages():
            count += 1
        await transport.close()
        return count

    return lambda: asyncio.run(one())


def side_by_side_100(path: Path) -> Work:
    """A hundred whole runs at the same time; the count is of all their events."""
    from bridle.run.finished import Finished
    from bridle.run.request import Request
    from bridle.run.runner import run

    async def all_of_them(folder: Path) -> int:
        async def one(number: int) -> Finished:
            cwd = folder / str(number)
            cwd.mkdir()
            return await run(Request("x", cwd), environment={**os.environ, "BRIDLE_CLAUDE": str(path)})

        finished = await asyncio.gather(*(one(number) for number in range(100)))
        assert not any(one.outcome.failed for one in finished)
        return sum(one.record.events for one in finished)

    def work() -> int:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            return asyncio.run(all_of_them(Path(folder)))

    return work


WORKS: dict[str, Callable[[Path], Work]] = {
    "bridle_decode": bridle_decode,
    "bridle_judge": bridle_judge,
    "bridle_judge_pipe": bridle_judge_pipe,
    "msgspec_ceiling": msgspec_ceiling,
    "json_loads": json_loads,
    "sdk": sdk,
    "clauditor": clauditor,
    "run_core": run_core,
    "run_transport": run_transport,
    "sdk_transport": sdk_transport,
    "side_by_side_100": side_by_side_100,
}


def main() -> None:
    """Measure once and print the figures."""
    work = WORKS[sys.argv[1]](Path(sys.argv[2]))
    before = time.process_time()
    count = work()
    seconds = time.process_time() - before
    print(json.dumps({"cpu_seconds": seconds, "peak_bytes": _peak_bytes(), "events": count}))


def _peak_bytes() -> int:
    """The most memory that this process held; on Linux getrusage would also count the process that started it."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _bridle_judge(chunks: Callable[[], Iterator[bytes]]) -> Work:
    from bridle.wire.events.decode import Decoder
    from bridle.wire.record.outcome import judge
    from bridle.wire.record.recorder import Recorder

    def work() -> int:
        decoder, recorder = Decoder(), Recorder()
        for chunk in chunks():
            recorder.add_all(decoder.feed(chunk))
        recorder.add_all(decoder.end())
        assert judge(recorder.record).error is None
        return recorder.record.events

    return work


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def _piped(path: Path) -> Iterator[bytes]:
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        while chunk := os.read(child.stdout.fileno(), CHUNK_BYTES):
            yield chunk


if __name__ == "__main__":
    main()
