"""Runs of any length, written straight to disk in the format: for tests and benchmarks that need a long past."""

from __future__ import annotations

from pathlib import Path

from bridle.ground.light.moments import iso
from bridle.journal.format import codec, documents, layout
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Effect, Entry, Posted, Request
from bridle.journal.format.state import file_name, requested_effect
from bridle.journal.format.ulid import next_ulid
from bridle.journal.stores.create import NewRun, create_run

PROCESS_ID = "made/long"
TASK_ID = "work"
# A moment in the past, so that ids made today come behind those in here.
FIRST_MOMENT_MS = 1_790_000_000_000

PYTHON_PROCESS = """\
import asyncio
from bridle import define_task

work = define_task("work", lambda args, task: {"kind": "node", "title": f"work {args['n']}"})


async def process(inputs, ctx):
    for n in range(inputs["resolved"]):
        await ctx.task(work, {"n": n})
    waiting = range(inputs["resolved"], inputs["resolved"] + inputs["pending"])
    await asyncio.gather(*(ctx.task(work, {"n": n}) for n in waiting))
    return "done"
"""
JAVASCRIPT_PROCESS = """\
import { defineTask } from "@a5c-ai/babysitter-sdk";

const work = defineTask("work", (args) => ({ kind: "node", title: `work ${args.n}` }));

export async function process(inputs, ctx) {
  for (let n = 0; n < inputs.resolved; n += 1) await ctx.task(work, { n });
  const waiting = Array.from({ length: inputs.pending }, (_, k) => inputs.resolved + k);
  await ctx.parallel.all(waiting.map((n) => () => ctx.task(work, { n })));
  return "done";
}
"""


class LongRun:
    """Writes the entries of a run one after the other, with rising ids, syncing nothing."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.seq = 1
        self.pending: list[str] = []
        self._moment_ms = FIRST_MOMENT_MS
        first = next(iter((run / layout.JOURNAL).iterdir()))
        name = codec.parse_name(first.name)
        assert name is not None
        self._ulid = name[1]

    def new_id(self) -> str:
        self._moment_ms += 1
        self._ulid = next_ulid(self._ulid, now_ms=self._moment_ms, random=self._moment_ms.to_bytes(10, "big"))
        return self._ulid

    def request(self, n: int) -> Effect:
        """Ask for the n-th effect."""
        effect_id = self.new_id()
        step_id = f"S{n + 1:06d}"
        request = Request(
            effect_id=effect_id,
            key=f"{PROCESS_ID}:{step_id}:{TASK_ID}",
            step_id=step_id,
            task_id=TASK_ID,
            kind="node",
            label=f"work {n}",
            definition={"kind": "node", "title": f"work {n}"},
            inputs={"n": n},
        )
        folder = self.run / layout.TASKS / effect_id
        folder.mkdir()
        document = documents.task_document(request, inputs_ref=None)
        (folder / layout.TASK_FILE).write_bytes(codec.pretty(document))
        task_ref = f"{layout.TASKS}/{effect_id}/{layout.TASK_FILE}"
        entry = self.append(EFFECT_REQUESTED, documents.requested_data(request, task_ref=task_ref, inputs_ref=None))
        self.pending.append(effect_id)
        return requested_effect(entry)

    def resolve(self, effect: Effect, value: object) -> None:
        """Give an effect its result."""
        now = iso(self._moment_ms * 1_000_000)
        posted = Posted("ok", value=value, started_at=now, finished_at=now)
        document = documents.result_document(effect, posted, result_ref=None, stdout_ref=None, stderr_ref=None)
        ref = f"{layout.TASKS}/{effect.effect_id}/{layout.RESULT_FILE}"
        (self.run / ref).write_bytes(codec.pretty(document))
        data = documents.resolved_data(effect.effect_id, posted, result_ref=ref, stdout_ref=None, stderr_ref=None)
        self.append(EFFECT_RESOLVED, data)
        self.pending.remove(effect.effect_id)

    def append(self, entry_type: str, data: dict[str, object]) -> Entry:
        self.seq += 1
        text = codec.encode(entry_type, iso(self._moment_ms * 1_000_000), data)
        ulid = self.new_id()
        (self.run / layout.JOURNAL / file_name(self.seq, ulid)).write_bytes(text)
        return codec.decode(self.seq, ulid, text)


def long_run(runs: Path, run_id: str, *, resolved: int, pending: int = 1, entry: Path | None = None) -> LongRun:
    """A run with so many effects behind it, and so many that wait."""
    if entry is None:
        entry = runs / "process.py"
        runs.mkdir(parents=True, exist_ok=True)
        entry.write_text(PYTHON_PROCESS, encoding="utf-8")
    new = NewRun(
        run_id=run_id,
        process_id=PROCESS_ID,
        entry=entry,
        has_inputs=True,
        inputs={"resolved": resolved, "pending": pending},
    )
    first = next_ulid("", now_ms=FIRST_MOMENT_MS, random=bytes(10))
    run = create_run(runs, new, proof="5" * 32, ulid=first, created_at=iso(FIRST_MOMENT_MS * 1_000_000))
    made = LongRun(run)
    for n in range(resolved):
        made.resolve(made.request(n), {"n": n, "said": f"the result of step {n}"})
    for n in range(resolved, resolved + pending):
        made.request(n)
    return made
