"""A writer killed by SIGKILL, at every named point and at any moment: the run goes on and ends the same."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bridle.journal.format import layout
from bridle.journal.format.state import fold
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.journal.fixtures.entry_steps import make_request, ok
from tests.journal.fixtures.journal_checks import assert_intact, summary, write_again
from tests.journal.fixtures.journal_writes import WRITES, new_run
from tests.sizes import SIZES

Report = Callable[[str, object], None]

ROOT = Path(__file__).parents[2]
# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

# Where a writer must have been killed for the test to mean anything; the pattern is that of the recorder's lines.
NAMED_POINTS = {
    "post": {
        "result.json is written": r"write \S+/tasks/E2/\.bridle-\w+\.tmp$",
        "result.json is synced": r"sync \S+/tasks/E2/result\.json$",
        "result.json is named": r"rename \S+ -> \S+/tasks/E2/result\.json$",
        "the folder of the effect is synced": r"sync \S+/tasks/E2$",
        "the entry is written": r"write \S+/r/\.bridle-\w+\.tmp$",
        "the entry is synced": r"sync \S+/r/\.bridle-\w+\.tmp$",
        "the entry is named": r"rename \S+ -> \S+/journal/000005\.\w+\.json$",
        "the journal is synced": r"sync \S+/journal$",
        "the journal is marked": r"utime \S+/journal$",
        "the pack grows": r"write \S+/state/bridle\.pack$",
        "the other implementation's cache is named": r"rename \S+ -> \S+/state/state\.json$",
        "the lock is let go": r"truncate \S+/bridle\.lock$",
    },
    "append": {
        "the lock is taken": r"write \S+/bridle\.lock$",
        "the entry is written": r"write \S+/r/\.bridle-\w+\.tmp$",
        "the entry is synced": r"sync \S+/r/\.bridle-\w+\.tmp$",
        "the entry is named": r"rename \S+ -> \S+/journal/000005\.\w+\.json$",
        "the journal is synced": r"sync \S+/journal$",
        "the journal is marked": r"utime \S+/journal$",
        "the pack grows": r"write \S+/state/bridle\.pack$",
        "the lock is let go": r"truncate \S+/bridle\.lock$",
    },
    "ask": {
        "the folder of the effect is made": r"mkdir \S+/tasks/\w+$",
        "the folder of tasks is synced": r"sync \S+/tasks$",
        "task.json is named": r"rename \S+ -> \S+/task\.json$",
        "the entry is named": r"rename \S+ -> \S+/journal/000005\.\w+\.json$",
        "the journal is synced": r"sync \S+/journal$",
    },
}


def gated(write: str, run: Path) -> subprocess.Popen[str]:
    """A writer of its own that waits before each change."""
    command = [sys.executable, "-m", "tests.journal.fixtures.kill_points", write, str(run)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def killed_at(write: str, run: Path, pattern: str | None = None, times: int = 1) -> list[str]:
    """Kill the writer when it has come to such a point so many times; gives the points that it came to."""
    reached: list[str] = []
    with gated(write, run) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while (line := process.stdout.readline().strip()) not in ("done", ""):
            reached.append(line)
            times -= pattern is not None and re.search(pattern, line) is not None
            if not times:
                process.send_signal(signal.SIGKILL)
                break
            process.stdin.write("on\n")
            process.stdin.flush()
        process.wait(LIMIT_SECONDS)
    assert process.returncode == (0 if pattern is None else -signal.SIGKILL)
    return reached


@pytest.mark.parametrize("write", NAMED_POINTS)
def test_killed_at_every_named_point_the_run_goes_on_and_ends_the_same(
    write: str, tmp_path: Path, record_property: Report
) -> None:
    undisturbed = new_run(tmp_path / "undisturbed")
    points = killed_at(write, undisturbed)
    expected = summary(undisturbed)
    for name, pattern in NAMED_POINTS[write].items():
        times = sum(re.search(pattern, line) is not None for line in points)
        assert times, f"the writer never came to the point where {name}"
        run = new_run(tmp_path / name.replace(" ", "-"))
        before = [entry.ulid for entry in FileReader(run).entries()]
        killed_at(write, run, pattern, times)
        assert_intact(run, before, done=False)
        write_again(WRITES[write], run)
        assert summary(run) == expected
        assert not [path for path in os.listdir(run) if path.startswith(".bridle-")], "the next writer cleans up"
    record_property("count", f"{write}: killed at {len(NAMED_POINTS[write])} named points")


# Appends and posts as fast as it can, and says what was acknowledged.
BUSY = """
import sys
from collections.abc import Callable
from pathlib import Path
from bridle.journal.stores.file_store import FileStore
from tests.journal.fixtures.entry_steps import make_request, ok
store = FileStore(Path(sys.argv[1]))
print("begun", flush=True)
while True:
    with store.write("busy") as writer:
        number = len(writer.state.effects) + 1
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, number))
    print("asked", effect_id, flush=True)
    with store.write("busy") as writer:
        writer.resolve(effect_id, ok({"of": effect_id}))
    print("posted", effect_id, flush=True)
"""


def test_killed_at_any_moment_again_and_again_nothing_acknowledged_is_lost(
    tmp_path: Path, record_property: Report
) -> None:
    run = new_run(tmp_path)
    chance = Random(2026)  # noqa: S311  # the same moments, as far as a machine allows
    acknowledged: list[str] = []
    for _ in range(SIZES.random_kills):
        acknowledged += killed_while_busy(run, chance)
        entries = list(FileReader(run).entries())
        state = FileReader(run).state()
        assert repr(state.effects) == repr(fold(entries).effects)
    acknowledged_writes = [line.split() for line in acknowledged]
    for kind, effect_id in acknowledged_writes:
        effect = state.effects[effect_id]
        if kind == "posted":
            assert FileReader(run).result(effect).value == {"of": effect_id}
    assert sum(kind == "posted" for kind, _ in acknowledged_writes) > 0
    resolved = [effect.effect_id for effect in state.resolved]
    assert len(resolved) == len(set(resolved))
    record_property("count", f"random kills: {SIZES.random_kills}, {len(acknowledged_writes)} acknowledged writes")


def killed_while_busy(run: Path, chance: Random) -> list[str]:
    """What a busy writer acknowledged before it was killed, which happens in the midst of its work."""
    command = [sys.executable, "-c", BUSY, str(run)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        lines = [process.stdout.readline() for _ in range(chance.randrange(4))]
        # Some moments further, at no particular place in its work.
        select.select([], [], [], chance.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    assert process.returncode == -signal.SIGKILL
    return [line.decode().strip() for line in lines if line.endswith(b"\n")]


# One of a storm: posts its own effects, appends, and looks, all at the same time as the others.
STORMY = """
import sys
from collections.abc import Callable
from pathlib import Path
from bridle.journal.stores.file_store import FileStore
from tests.journal.fixtures.entry_steps import ok
store = FileStore(Path(sys.argv[1]))
sys.stdin.readline()
for effect_id in sys.argv[2:]:
    with store.write("storm", wait_seconds=60) as writer:
        writer.resolve(effect_id, ok({"of": effect_id}))
    print(effect_id, flush=True)
    with store.write("storm", wait_seconds=60) as writer:
        writer.append("BRIDLE_STORM", {"by": sys.argv[2], "after": effect_id})
    store.position()
    store.state()
"""
STORMERS = 16


def test_in_a_storm_of_writers_the_sequence_has_no_gap_and_every_post_is_there_once(
    tmp_path: Path, record_property: Report
) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        wanted = [writer.new_id() for _ in range(STORMERS * SIZES.storm_posts)]
        for number, effect_id in enumerate(wanted, 3):
            writer.request(make_request(effect_id, number))
    shares = [wanted[number::STORMERS] for number in range(STORMERS)]
    assert sorted(storm(run, shares)) == sorted(wanted)
    entries = list(FileReader(run).entries())
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    state = fold(entries)
    assert sorted(effect.effect_id for effect in state.resolved if effect.effect_id in wanted) == sorted(wanted)
    assert len(state.notes) == len(wanted)
    assert repr(FileReader(run).state().effects) == repr(state.effects)
    assert FileReader(run).position().seq == len(entries)
    assert (run / layout.STATE / layout.PACK_FILE).exists()
    record_property("count", f"storm: {STORMERS} processes, {len(wanted)} posts, {len(entries)} entries")


def storm(run: Path, shares: list[list[str]]) -> list[str]:
    """What all of them acknowledged."""
    commands = [[sys.executable, "-c", STORMY, str(run), *share] for share in shares]
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    try:
        outputs = []
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            outputs.append(process.communicate(timeout=LIMIT_SECONDS * 10)[0])
            assert process.returncode == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [line for output in outputs for line in output.splitlines()]


def test_a_writer_killed_with_its_lock_leaves_it_free(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    killed_at("append", run, NAMED_POINTS["append"]["the entry is named"])
    with FileStore(run).write("the next one", wait_seconds=0) as writer:
        assert writer.append("BRIDLE_X", {}).seq == 5


def test_a_result_that_was_never_acknowledged_gives_way_to_the_next_one(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    killed_at("post", run, NAMED_POINTS["post"]["the entry is named"])
    assert (run / "tasks" / "E2" / "result.json").exists()
    assert list(FileReader(run).position().pending) == ["E2"]
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", ok("another value"))
    store = FileReader(run)
    assert store.result(store.state().effects["E2"]).value == "another value"
