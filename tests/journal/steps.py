"""Journals in short: entries by what they do, numbered and with rising ids, for tests of the fold and the stores."""

from __future__ import annotations

from bridle.journal.format.entries import Entry, Posted, Request
from bridle.journal.format.state import State, fold
from bridle.journal.format.ulid import next_ulid

MOMENT = "2026-11-15T00:00:00.000Z"


def request_data(name: str, kind: str = "agent", key: str | None = None) -> dict[str, object]:
    """The data of an EFFECT_REQUESTED entry."""
    return {
        "effectId": name,
        "invocationKey": key or f"p:{name}:task",
        "stepId": name,
        "taskId": "task",
        "kind": kind,
        "taskDefRef": f"tasks/{name}/task.json",
    }


def step(word: str) -> tuple[str, dict[str, object]]:
    """`ask:a` `ask:a/breakpoint` `ok:a` `error:a` `created` `completed` `failed` `halted` `stop`, or a bare type."""
    deed, _, name = word.partition(":")
    name, _, kind = name.partition("/")
    match deed:
        case "ask":
            return "EFFECT_REQUESTED", request_data(name, kind or "agent")
        case "ok" | "error":
            return "EFFECT_RESOLVED", {"effectId": name, "status": deed, "resultRef": f"tasks/{name}/result.json"}
        case "created" | "completed" | "failed" | "halted":
            return f"RUN_{deed.upper()}", {}
        case "stop":
            return "STOP_HOOK_INVOKED", {}
    return word, {}


def ids(count: int) -> list[str]:
    """Rising ids."""
    found = [""]
    for number in range(count):
        found.append(next_ulid(found[-1], now_ms=1_790_000_000_000 + number, random=bytes(10)))
    return found[1:]


def journal(words: str) -> list[Entry]:
    """The entries that these words stand for."""
    steps = [step(word) for word in words.split()]
    ulids = ids(len(steps))
    return [
        Entry(seq, ulid, entry_type, MOMENT, data)
        for seq, (ulid, (entry_type, data)) in enumerate(zip(ulids, steps, strict=True), 1)
    ]


def state_of(words: str) -> State:
    """The state after these words."""
    return fold(journal(words))


def a_request(effect_id: str, step_number: int = 1, *, kind: str = "agent", inputs: object = None) -> Request:
    """A request as a process makes it."""
    step_id = f"S{step_number:06d}"
    return Request(
        effect_id=effect_id,
        key=f"demo:{step_id}:task",
        step_id=step_id,
        task_id="task",
        kind=kind,
        label="a label",
        labels=("a label",),
        definition={"kind": kind, "title": "A title"},
        inputs={"n": step_number} if inputs is None else inputs,
    )


def ok(value: object) -> Posted:
    """A result that is ok."""
    return Posted("ok", value=value, started_at=MOMENT, finished_at=MOMENT)


def failure(name: str, message: str) -> Posted:
    """A result that is an error."""
    return Posted("error", error={"name": name, "message": message}, started_at=MOMENT, finished_at=MOMENT)
