"""One measurement in a process of its own: `worker.py WORK FILE` prints CPU seconds, peak memory and a count.

It runs in the environments of the peers too, so it imports at its top nothing but the standard library. Imports of
what is measured, and the first calls that build caches, happen before the clock starts.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CHUNK_BYTES = 256 * 1024
CLAUDITOR_LIMIT_SECONDS = 600  # its own time-out; a run here takes seconds

Work = Callable[[], int]


def bridle_decode(path: Path) -> Work:
    """Bytes to events."""
    from bridle.wire.decode import Decoder

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
    """The same from a child's pipe, as a runner reads it."""
    return _bridle_judge(lambda: _piped(path))


def msgspec_ceiling(path: Path) -> Work:
    """The decoder that Bridle uses, into the same types, on lines that are cut already, and nothing else."""
    import msgspec

    from bridle.wire.events import Plain

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


WORKS: dict[str, Callable[[Path], Work]] = {
    "bridle_decode": bridle_decode,
    "bridle_judge": bridle_judge,
    "bridle_judge_pipe": bridle_judge_pipe,
    "msgspec_ceiling": msgspec_ceiling,
    "json_loads": json_loads,
    "sdk": sdk,
    "clauditor": clauditor,
}


def main() -> None:
    """Measure once and print the figures."""
    work = WORKS[sys.argv[1]](Path(sys.argv[2]))
    before = time.process_time()
    count = work()
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1)
    print(json.dumps({"cpu_seconds": seconds, "peak_bytes": peak, "events": count}))


def _bridle_judge(chunks: Callable[[], Iterator[bytes]]) -> Work:
    from bridle.wire.decode import Decoder
    from bridle.wire.outcome import judge
    from bridle.wire.recorder import Recorder

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
