"""What showing and inspecting a log costs for each megabyte: of valid events, and of bytes that are not events.

Garbage must not cost much more than events: a log that a broken program filled is still read at once.
"""

from __future__ import annotations

import io
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from bench.measure import ROOT, Target
from bridle.views.terminal.conversation import PlainView
from bridle.views.terminal.page import DisplayOptions
from bridle.wire.events.decode import Decoder
from bridle.wire.mask import Mask
from bridle.wire.transcript.transcript import Transcript

ROUNDS = 5  # the least of five is steady within a tenth on a machine that does other things as well
SIZE_BYTES = 4_000_000
INSPECT_TIMES = 5  # a log of 20 MB, where starting Python matters little
CHUNK_BYTES = 256 * 1024
VALID = "valid events (recordings)"
BINARY = ("random bytes", "random bytes in one line", "zero bytes")
TINY_LINES = (b"x", b"{", b"[", b'"', b"1", b"")
NEWLINES = "random bytes, a fifth of them newlines"
CUT_EVENTS = "events cut off after 20 bytes"
TEXT = "lines of text"
WANTED = 10.0


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    inputs = _inputs()
    least = {(command, name): float("inf") for command in COMMANDS for name in inputs}
    for _ in range(ROUNDS):
        for command, name in least:
            seconds = COMMANDS[command](inputs[name]) / len(inputs[name]) * 1e6
            least[command, name] = min(least[command, name], seconds)
    rows = [
        {
            "what": f"{command}: {name}",
            "CPU ms/MB": round(seconds * 1000, 1),
            "MB/s": round(1 / seconds, 1),
            "x valid": round(seconds / least[command, VALID], 2),
        }
        for (command, name), seconds in least.items()
    ]
    targets = [
        Target(
            claim=f"{command}: {name} against {VALID}",
            found=seconds / least[command, VALID],
            wanted=WANTED,
            at_least=False,
        )
        for (command, name), seconds in least.items()
        if name not in (VALID, TEXT)
    ]
    return {"rows": rows, "targets": targets, "remarks": []}


def _inputs() -> dict[str, bytes]:
    """Return what is shown, the same bytes in every round."""
    recordings = sorted((ROOT / "tests" / "recordings" / "claude-2.1.197").glob("*.ndjson"))
    events = b"".join(path.read_bytes() for path in recordings)
    cut = b"".join(line[:20] + b"\n" for line in events.splitlines())
    noise = random.Random(8).randbytes(SIZE_BYTES)  # noqa: S311  # the same bytes in every run, not a secret
    random_bytes, one_line, zeros = BINARY
    return {
        VALID: events * (SIZE_BYTES // len(events) + 1),
        random_bytes: noise,
        one_line: noise.replace(b"\n", b"x"),
        zeros: bytes(SIZE_BYTES),
        **{f"lines of {line.decode()!r}": (line + b"\n") * (SIZE_BYTES // (len(line) + 1)) for line in TINY_LINES},
        NEWLINES: noise.translate(bytes([10] * 51 + [*range(51, 256)])),
        CUT_EVENTS: cut * (SIZE_BYTES // len(cut) + 1),
        TEXT: b"npm warn deprecated left-pad@1.0.0: use another package\n" * (SIZE_BYTES // 56),
    }


def _show(data: bytes) -> float:
    """Return the CPU seconds from the bytes to the lines of the terminal."""
    began = time.process_time()
    transcript, decoder = Transcript(), Decoder()
    for start in range(0, len(data), CHUNK_BYTES):
        for event in decoder.feed(data[start : start + CHUNK_BYTES]):
            transcript.add(event)
    for event in decoder.end():
        transcript.add(event)
    transcript.finish()
    PlainView(transcript, Mask(), DisplayOptions(), io.StringIO()).finish()
    return time.process_time() - began


def _inspect(data: bytes) -> float:
    """Return the CPU seconds of `bridle inspect`, its start included, for as many bytes."""
    with tempfile.NamedTemporaryFile(suffix=".ndjson") as log:
        log.write(data * INSPECT_TIMES)
        log.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", "from bridle.cli.main import main; main()", "inspect", log.name]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in done.stderr or done.returncode < 0:
        raise SystemExit(f"bridle inspect failed:\n{done.stderr.decode(errors='replace')}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / INSPECT_TIMES


COMMANDS: dict[str, Callable[[bytes], float]] = {"show": _show, "inspect": _inspect}
