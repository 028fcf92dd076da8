"""Things that are done to a run, each of which can be interrupted anywhere and done again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from tests.journal.steps import MOMENT, a_request, ids, ok

Deed = Callable[[Path], None]


def new_run(folder: Path) -> Path:
    """A run that waits for one effect, and has a few entries behind it."""
    new = NewRun(run_id="r", process_id="demo", entry=folder / "p.py")
    run = create_run(folder / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    with FileStore(run).write("test") as writer:
        for number in (1, 2):
            writer.request(a_request(f"E{number}", number))
    with FileStore(run).write("test") as writer:
        writer.resolve("E1", ok("one"))
    return run


def append(run: Path) -> None:
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {"n": 1})


def post(run: Path) -> None:
    with FileStore(run).write("test") as writer:
        if "E2" in writer.standing.pending:
            writer.resolve("E2", ok({"said": "two"}))


def post_large(run: Path) -> None:
    with FileStore(run).write("test") as writer:
        if "E2" in writer.standing.pending:
            writer.resolve("E2", ok("x" * 1_100_000))


def ask(run: Path) -> None:
    with FileStore(run).write("test") as writer:
        if "demo:S000003:task" not in writer.state.by_key:
            writer.request(a_request(writer.new_id(), 3))


def complete(run: Path) -> None:
    with FileStore(run).write("test") as writer:
        if writer.standing.end is None:
            writer.append("RUN_COMPLETED", {"outputRef": writer.keep_output({"sum": 3})})


DEEDS: dict[str, Deed] = {"append": append, "post": post, "post a blob": post_large, "ask": ask, "complete": complete}
