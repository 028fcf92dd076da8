"""Values that differ in each interpreter, or that JSON lacks, are handled where a process hands them over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.engine.iterate.compare import compare
from tests.engine.fixtures.iterated_runs import IteratedRun, task_of

BODY = """
HALF = "\\ud83d"

class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no text")

async def process(inputs, ctx):
    %s
"""


def iterated(folder: Path, body: str, *, hook: str | None = None) -> IteratedRun:
    if hook is not None:
        script = folder / "settings" / "babysitter" / "hooks" / "note" / "hook.sh"
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{hook}\n", encoding="utf-8")
        script.chmod(0o755)
    run = IteratedRun(folder, BODY % body.replace("\n", "\n    "))
    if hook is not None:
        run.hooks.environment = {**run.hooks.environment, "XDG_CONFIG_HOME": str(folder / "settings")}
    return run


def differences(run: IteratedRun) -> list[str]:
    return [difference.message for difference in compare(run.run).differences]


@pytest.mark.parametrize(
    "body",
    [
        "return await ctx.task(step, {'x': repr(object())})",
        "return await ctx.task(step, {repr(object()): [repr(object())]})",
        "return await ctx.breakpoint({'question': repr(object())})",
        "return await ctx.orchestrator_task({'x': repr(object())})",
        "return await ctx.task(step, {'x': HALF, HALF: [HALF + 'x']}, label=HALF)",
    ],
)
def test_a_request_that_differs_only_in_addresses_or_half_characters_is_the_recorded_one(
    tmp_path: Path, body: str
) -> None:
    run = iterated(tmp_path, body)
    assert len(run.iterate().actions) == 1
    # Objects of the first iteration are still there: the next ones get other addresses.
    ballast = [object() for _ in range(1000)]
    assert differences(run) == []
    run.post("1", {"approved": True})
    assert run.iterate().status == "completed"
    assert differences(run) == []
    assert len(ballast) == 1000


def test_half_a_character_reaches_no_performer(tmp_path: Path) -> None:
    run = iterated(tmp_path, "return await ctx.task(other, {'x': HALF}, label='a' + HALF)")
    (action,) = run.iterate().actions
    assert task_of(action)["inputs"] == {"x": "\ufffd"}
    assert action.effect.label == "a\ufffd"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("await ctx.task(step, {10**5000: 1})", "the key <int that cannot be printed> is not text"),
        ("await ctx.task(step, {'x': 10**5000})", "an integer has more than 4300 digits"),
        ("await ctx.task(step, {}, key=10**5000)", "the key <int that cannot be printed>"),
        ("await ctx.task(step, {}, key=repr(object()))", "contains the address of an object"),
        ("await ctx.task(step, {}, label=object())", "a label must be text, got object"),
        ("await ctx.sleep_until(10**5000)", "invalid sleep target <int that cannot be printed>"),
        ("await ctx.sleep_until(float('nan'))", "invalid sleep target nan"),
        ("await ctx.hook('note', {}, label=object())", "a label must be text, got object"),
        ("await ctx.hook('note', {}, timeout_seconds='x')", "must be a positive number, got 'x'"),
        ("await ctx.hook('note', {}, timeout_seconds=float('nan'))", "must be a positive number, got nan"),
        ("await ctx.hook('note', {'x': float('inf')})", "the payload of hook 'note' cannot be written as JSON"),
        (
            "await ctx.task(define_task('t', lambda a, t: {'kind': 'x', 'y': t.create_blob_ref('b', float('nan'))}))",
            "the blob 'b' of task t cannot be written as JSON",
        ),
    ],
)
def test_a_value_that_no_replay_could_repeat_fails_the_process_by_name(tmp_path: Path, body: str, message: str) -> None:
    run = iterated(tmp_path, body)
    found = run.iterate()
    assert found.failure is not None
    assert found.failure.name == "BadTask"
    assert message in found.failure.message
    assert differences(run) == []


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("raise Unprintable()", "Unprintable: its text cannot be shown: ValueError in __str__"),
        ("raise EffectFailed('m', name='N', data={'x': float('nan')})", "N: m"),
        ("raise EffectFailed('m', name='N', data=object())", "N: m"),
        ("raise EffectFailed('m', name=5)", "5: m"),
    ],
)
def test_any_error_that_a_process_raises_is_recorded(tmp_path: Path, body: str, failure: str) -> None:
    run = iterated(tmp_path, body)
    assert str(run.iterate().failure) == failure
    assert run.types() == ["RUN_FAILED"]
    assert differences(run) == []


@pytest.mark.parametrize(
    "end", ["raise RuntimeError(repr(object()))", "return repr(object())", "await ctx.halt(repr(object()))"]
)
def test_an_end_that_differs_only_in_addresses_is_the_recorded_one(tmp_path: Path, end: str) -> None:
    run = iterated(tmp_path, end)
    run.iterate()
    ballast = [object() for _ in range(1000)]
    run.iterate()
    assert len(run.types()) == 1
    assert differences(run) == []
    assert len(ballast) == 1000


def test_the_errors_of_a_group_are_in_the_journal(tmp_path: Path) -> None:
    body = """async def fail(text):
    raise ValueError(text)
async def nested():
    async with asyncio.TaskGroup() as inner:
        inner.create_task(fail('the inner cause'))
async with asyncio.TaskGroup() as group:
    group.create_task(nested())
    group.create_task(fail('the other cause'))"""
    run = iterated(tmp_path, body)
    found = run.iterate()
    error: Any = run.entries()[-1].data["error"]
    other, nested = error["errors"]
    assert [other["name"], other["message"]] == ["ValueError", "the other cause"]
    assert "in fail" in other["stack"]
    assert nested["errors"][0]["message"] == "the inner cause"
    assert "the inner cause" in str(found.failure)
    assert "the other cause" in str(found.failure)
    assert differences(run) == []


def test_a_hook_gets_its_payload_as_it_was_when_it_was_requested(tmp_path: Path) -> None:
    body = """payload = {'x': 1}
hook = ctx.hook('note', payload)
payload['x'] = object()
return (await hook)['output']['x']"""
    run = iterated(tmp_path, body, hook="cat")
    assert run.iterate().output == 1


def test_a_halted_run_has_the_payload_as_it_was(tmp_path: Path) -> None:
    run = iterated(tmp_path, "payload = {'x': 1}\nend = ctx.halt('done', payload)\npayload['x'] = {2}\nawait end")
    assert run.iterate().halt == {"reason": "done", "payload": {"x": 1}}


@pytest.mark.parametrize("payload", ["{'x': HALF}", "{'x': repr(object())}"])
def test_a_hook_runs_with_any_text(tmp_path: Path, payload: str) -> None:
    run = iterated(tmp_path, f"return (await ctx.hook('note', {payload}))['output']['x'][-1]", hook="cat")
    assert run.iterate().output in ("\ufffd", ">")
    assert differences(run) == []
