"""Native hooks: which run, in which order, with what, and that none of them stops a run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridle.cli import main as dispatcher
from bridle.engine.hooks.find_hooks import (
    ON_BREAKPOINT,
    ON_ITERATION_END,
    ON_ITERATION_START,
    ON_RUN_COMPLETE,
    ON_RUN_FAIL,
    ON_RUN_START,
    ON_STEP_DISPATCH,
    ON_TASK_COMPLETE,
    ON_TASK_START,
    repository_of,
)
from bridle.engine.hooks.run_hooks import VARIABLE_LIMIT_BYTES, HookResults, Hooks
from bridle.errors import DiskError, UsageError
from bridle.ground.home import bridle_home
from bridle.ground.trust import is_trusted, trust
from tests.engine.fixtures.iterated_runs import IteratedRun, task_of

# A hook that is to be ended by its limit would take this long.
FOR_EVER_SECONDS = 1000
# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

TELLER = """#!/bin/bash
cat > "$WITNESS/$HOOK_TYPE.$(basename "$0").stdin"
printf '%s' "$HOOK_PAYLOAD" > "$WITNESS/$HOOK_TYPE.$(basename "$0").variable"
printf '%s' "$BREAKPOINT_PAYLOAD" > "$WITNESS/$HOOK_TYPE.$(basename "$0").breakpoint"
echo "$HOOK_TYPE $0" >> "$WITNESS/order"
pwd >> "$WITNESS/cwd"
"""


@pytest.fixture(name="witness")
def _witness(tmp_path: Path) -> Path:
    folder = tmp_path / "witness"
    folder.mkdir()
    os.environ["WITNESS"] = str(folder)
    return folder


def put(folder: Path, hook_type: str, name: str, text: str = TELLER, *, mode: int = 0o755) -> Path:
    path = folder / hook_type / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def home() -> Path:
    return bridle_home(os.environ)


def repository_hooks(repository: Path) -> Path:
    return repository / ".a5c" / "hooks"


def user_hooks() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter" / "hooks"


def fire(hooks: Hooks, hook_type: str, payload: dict[str, Any], *, limit_seconds: float | None = None) -> HookResults:
    return asyncio.run(hooks.fire(hook_type, payload, limit_seconds=limit_seconds))


def told(witness: Path, hook_type: str, name: str = "a.sh") -> Any:
    return json.loads((witness / f"{hook_type}.{name}.stdin").read_text())


def order(witness: Path) -> list[str]:
    path = witness / "order"
    return path.read_text().splitlines() if path.exists() else []


def test_hooks_of_the_repository_the_user_and_the_plugin_run_in_this_order_each_sorted(
    tmp_path: Path, witness: Path
) -> None:
    plugin = tmp_path / "plugin"
    for folder in (plugin / "hooks", user_hooks(), repository_hooks(tmp_path)):
        for name in ("b.sh", "a.sh", "10.sh", "9.sh"):
            put(folder, "custom", name)
    trust(tmp_path, home())
    fired = fire(Hooks(tmp_path, os.environ, plugin), "custom", {})
    names = ["10.sh", "9.sh", "a.sh", "b.sh"]
    folders = [repository_hooks(tmp_path), user_hooks(), plugin / "hooks"]
    assert order(witness) == [f"custom {folder / 'custom' / name}" for folder in folders for name in names]
    assert [one.script.where for one in fired.results] == ["per-repo"] * 4 + ["per-user"] * 4 + ["plugin"] * 4
    assert fired.status == "executed"
    assert set((witness / "cwd").read_text().split()) == {str(tmp_path)}


def test_the_plugin_may_be_named_by_the_host(tmp_path: Path, witness: Path) -> None:
    put(tmp_path / "plugin" / "hooks", "custom", "a.sh")
    os.environ["CLAUDE_PLUGIN_ROOT"] = str(tmp_path / "plugin")
    assert fire(Hooks(tmp_path, os.environ), "custom", {}).status == "executed"


def test_the_payload_is_on_standard_input_and_in_variables(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "a.sh")
    put(user_hooks(), ON_BREAKPOINT, "a.sh")
    hooks = Hooks(tmp_path, os.environ)
    for hook_type in ("custom", ON_BREAKPOINT):
        fire(hooks, hook_type, {"question": "Grüße?", "runId": "r1"})
        payload = told(witness, hook_type)
        assert payload.pop("timestamp").endswith("Z")
        assert payload == {"question": "Grüße?", "runId": "r1", "hookType": hook_type}
        assert json.loads((witness / f"{hook_type}.a.sh.variable").read_text())["question"] == "Grüße?"
    assert (witness / "custom.a.sh.breakpoint").read_text() == ""
    assert json.loads((witness / f"{ON_BREAKPOINT}.a.sh.breakpoint").read_text())["question"] == "Grüße?"


def test_a_payload_that_fits_into_no_variable_is_on_standard_input(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "a.sh")
    fired = fire(Hooks(tmp_path, os.environ), "custom", {"text": "x" * 5 * VARIABLE_LIMIT_BYTES})
    assert fired.status == "executed"
    assert len(told(witness, "custom")["text"]) == 5 * VARIABLE_LIMIT_BYTES
    assert (witness / "custom.a.sh.variable").read_text() == ""


def test_a_hook_that_does_not_read_its_input_is_not_harmed(tmp_path: Path) -> None:
    put(user_hooks(), "custom", "a.sh", "#!/bin/sh\nexec true\n")
    assert fire(Hooks(tmp_path, os.environ), "custom", {"text": "x" * 1_000_000}).status == "executed"


def test_a_hook_that_fails_does_not_stop_the_rest(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "1.sh", "#!/bin/sh\nexit 3\n")
    put(user_hooks(), "custom", "2.sh", "#!/no/such/interpreter\n")
    put(user_hooks(), "custom", "3.sh", "#!/bin/sh\nkill -9 $$\n")
    put(user_hooks(), "custom", "4.sh")
    fired = fire(Hooks(tmp_path, os.environ), "custom", {})
    assert [one.exit_code for one in fired.results] == [3, None, -9, 0]
    assert fired.status == "error"
    assert len(fired.failures) == 3
    assert "2.sh" in fired.failures[1]
    assert [line.split("/")[-1] for line in order(witness)] == ["4.sh"]


def test_a_hook_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path, witness: Path) -> None:
    put(
        user_hooks(),
        "custom",
        "1.sh",
        f"#!/bin/sh\nsleep {FOR_EVER_SECONDS} & echo $! > $WITNESS/pid\nwait\n",
    )
    put(user_hooks(), "custom", "2.sh")
    os.environ["BABYSITTER_HOOK_TIMEOUT"] = "500"
    fired = fire(Hooks(tmp_path, os.environ), "custom", {})
    assert fired.results[0].exit_code is None
    assert "timed out after 0.5 seconds" in fired.failures[0]
    assert [line.split("/")[-1] for line in order(witness)] == ["2.sh"]
    _wait_until_gone(int((witness / "pid").read_text()))


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_last_json_that_a_hook_prints_is_its_output(tmp_path: Path) -> None:
    put(user_hooks(), "custom", "1.sh", "echo '{\"first\": 1}'\n", mode=0o644)
    put(user_hooks(), "custom", "2.sh", "echo '{\"second\": 2}'\n")
    put(user_hooks(), "custom", "3.sh", "echo just words\n")
    fired = fire(Hooks(tmp_path, os.environ), "custom", {})
    assert fired.status == "executed"
    assert fired.output == {"second": 2}


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("echo noise; echo '{\"x\": 1}'", {"x": 1}),
        ("echo '{\"x\": 1}'; echo '{\"x\": 2}'", {"x": 2}),
        ("echo '[1]'; echo '[INFO] done'", [1]),
        ("printf 'noise\\n  {\"x\": 1}  \\n\\nbye\\n'", {"x": 1}),
        ("printf '{\\n\"x\":\\n[1]\\n}\\n'", {"x": [1]}),
        ("echo 5; echo words", None),
    ],
)
def test_a_line_of_json_between_text_is_the_output_of_a_hook(printed: str, expected: object, tmp_path: Path) -> None:
    put(user_hooks(), "custom", "1.sh", f"{printed}\n")
    fired = fire(Hooks(tmp_path, os.environ), "custom", {})
    assert (fired.output, fired.failures) == (expected, ())


def test_a_hook_that_prints_the_same_key_twice_has_failed(tmp_path: Path) -> None:
    put(user_hooks(), "custom", "1.sh", 'echo text; echo \'{"x": 1, "x": 2}\'\n')
    fired = fire(Hooks(tmp_path, os.environ), "custom", {})
    assert (fired.output, fired.status) == (None, "error")
    assert fired.failures[0].endswith("its output is ignored: an object has the key 'x' twice")


def test_only_shell_scripts_are_hooks(tmp_path: Path) -> None:
    put(user_hooks(), "custom", "a.sh.bak")
    put(user_hooks(), "custom", "README.md")
    (user_hooks() / "custom" / "folder.sh").mkdir()
    assert fire(Hooks(tmp_path, os.environ), "custom", {}).status == "no-hooks-configured"


def test_a_repositorys_hooks_run_only_once_it_is_trusted(tmp_path: Path, witness: Path) -> None:
    put(repository_hooks(tmp_path), "custom", "a.sh")
    put(user_hooks(), "custom", "b.sh")
    hooks = Hooks(tmp_path, os.environ)
    fired = fire(hooks, "custom", {})
    assert [line.split("/")[-1] for line in order(witness)] == ["b.sh"]
    assert fired.untrusted == tmp_path
    trust(tmp_path, home())
    assert fire(hooks, "custom", {}).untrusted is None
    assert [line.split("/")[-1] for line in order(witness)] == ["b.sh", "a.sh", "b.sh"]


def test_trust_is_kept_in_the_users_folder_for_this_repository_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    (tmp_path / "link").symlink_to(one)
    assert not is_trusted(one, home())
    trust(tmp_path / "link", home())
    trust(one, home())
    assert is_trusted(one, home())
    assert not is_trusted(other, home())
    assert not is_trusted(tmp_path, home())
    assert home() == Path(os.environ["BRIDLE_HOME"])
    assert (home() / "trust.json").stat().st_mode & 0o777 == 0o600


def test_a_broken_list_of_trust_trusts_nothing(tmp_path: Path) -> None:
    trust(tmp_path, home())
    (home() / "trust.json").write_text('{"repositories": true}')
    with pytest.raises(DiskError, match=r"trust\.json"):
        is_trusted(tmp_path, home())


def test_no_hooks_means_none(tmp_path: Path, witness: Path) -> None:
    put(repository_hooks(tmp_path), "custom", "a.sh")
    put(user_hooks(), "custom", "a.sh")
    trust(tmp_path, home())
    assert fire(Hooks(tmp_path, os.environ, enabled=False), "custom", {}).status == "skipped"
    assert order(witness) == []


@pytest.mark.parametrize("hook_type", ["../x", "a/b", "", "..", "-x"])
def test_a_type_that_is_no_name_is_refused(tmp_path: Path, hook_type: str) -> None:
    with pytest.raises(UsageError, match="hook type"):
        fire(Hooks(tmp_path, os.environ), hook_type, {})


@pytest.mark.parametrize(
    ("run", "marks", "expected"),
    [
        ("repo/.a5c/runs/r1", ["repo/.a5c"], "repo"),
        ("repo/.git/x/r1", ["repo/.git"], "repo"),
        ("repo/sub/.a5c/runs/r1", ["repo/.git", "repo/sub/.a5c"], "repo/sub"),
        ("repo/elsewhere/r1", ["repo/.git"], "repo"),
    ],
)
def test_the_repository_of_a_run(tmp_path: Path, run: str, marks: list[str], expected: str) -> None:
    for folder in (*marks, run):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    assert repository_of(tmp_path / run) == tmp_path / expected


# ---- what is told when

GATE = """
async def process(inputs, ctx):
    built = await ctx.task(step, {"what": "build"}, label="the build")
    answer = await ctx.breakpoint({"question": "Ship it?"}, label="gate")
    if not answer["approved"]:
        raise ValueError("not approved")
    return {"built": built}
"""


def listening(folder: Path, *types: str) -> IteratedRun:
    for hook_type in types:
        put(repository_hooks(folder), hook_type, "a.sh")
    trust(folder, home())
    return IteratedRun(folder, GATE)


def test_on_run_start_is_reported_by_run_create(tmp_path: Path, witness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iterated = listening(tmp_path, ON_RUN_START)
    inputs = tmp_path / "inputs.json"
    inputs.write_text('{"x": 1}')
    monkeypatch.chdir(tmp_path)
    words = ["--process-id", "demo", "--entry", f"{iterated.process}#process", "--run-id", "r2"]
    assert dispatcher.run(["run:create", *words, "--inputs", str(inputs), "--no-hooks"]) == 0
    assert order(witness) == []
    words[-1] = "r3"
    assert dispatcher.run(["run:create", *words, "--inputs", str(inputs)]) == 0
    payload = told(witness, ON_RUN_START)
    assert payload.pop("timestamp")
    assert payload == {
        "processId": "demo",
        "entry": "../../../process.py#process",
        "inputs": {"x": 1},
        "runId": "r3",
        "hookType": ON_RUN_START,
    }


def test_on_iteration_start_and_end_are_reported_once_each(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_ITERATION_START, ON_ITERATION_END)
    found = iterated.iterate()
    assert [line.split()[0] for line in order(witness)] == [ON_ITERATION_START, ON_ITERATION_END]
    start, end = told(witness, ON_ITERATION_START), told(witness, ON_ITERATION_END)
    assert (start["runId"], start["iteration"], start["state"]) == ("r1", 1, "created")
    assert (end["status"], end["action"], end["reason"]) == ("executed", "executed-tasks", "auto-runnable-tasks")
    assert (end["iteration"], end["count"]) == (1, 1)
    assert found.hook_status == "executed"


def test_on_step_dispatch_is_reported_for_each_new_effect_and_never_again(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_STEP_DISPATCH)
    iterated.iterate()
    payload = told(witness, ON_STEP_DISPATCH)
    assert payload["effectId"] == iterated.effect("1").effect_id
    assert (payload["stepId"], payload["taskId"], payload["kind"]) == ("S000001", "step", "agent")
    assert (payload["label"], payload["runId"]) == ("the build", "r1")
    iterated.iterate()
    assert len(order(witness)) == 1
    iterated.post("1", "built")
    iterated.iterate()
    assert len(order(witness)) == 2


def test_on_breakpoint_is_reported_with_the_question(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_BREAKPOINT)
    iterated.iterate()
    assert order(witness) == []
    iterated.post("1", "built")
    iterated.iterate()
    payload = told(witness, ON_BREAKPOINT)
    assert payload["payload"] == {"question": "Ship it?"}
    assert (payload["label"], payload["effectId"]) == ("gate", iterated.effect("2").effect_id)
    assert json.loads((witness / f"{ON_BREAKPOINT}.a.sh.breakpoint").read_text()) == payload


def test_on_run_complete_is_reported_with_the_output(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_RUN_COMPLETE, ON_RUN_FAIL)
    iterated.iterate()
    iterated.post("1", "built")
    iterated.iterate()
    iterated.post("2", {"approved": True})
    iterated.iterate()
    assert [line.split()[0] for line in order(witness)] == [ON_RUN_COMPLETE]
    payload = told(witness, ON_RUN_COMPLETE)
    assert (payload["status"], payload["output"]) == ("completed", {"built": "built"})
    assert payload["duration"] >= 0
    iterated.iterate()
    assert len(order(witness)) == 1


def test_on_run_fail_is_reported_with_the_error(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_RUN_COMPLETE, ON_RUN_FAIL)
    iterated.iterate()
    iterated.post("1", "built")
    iterated.iterate()
    iterated.post("2", {"approved": False})
    iterated.iterate()
    assert [line.split()[0] for line in order(witness)] == [ON_RUN_FAIL]
    assert told(witness, ON_RUN_FAIL)["error"] == "not approved"


def test_on_task_complete_is_reported_by_task_post(tmp_path: Path, witness: Path) -> None:
    iterated = listening(tmp_path, ON_TASK_COMPLETE)
    iterated.iterate()
    words = ["task:post", str(iterated.run), iterated.effect("1").effect_id, "--status", "ok", "--value-inline", "1"]
    assert dispatcher.run([*words, "--dry-run"]) == 0
    assert order(witness) == []
    assert dispatcher.run(words) == 0
    payload = told(witness, ON_TASK_COMPLETE)
    assert (payload["effectId"], payload["status"]) == (iterated.effect("1").effect_id, "ok")


@pytest.mark.parametrize("hook_type", [ON_TASK_START, ON_TASK_COMPLETE])
def test_any_performer_of_an_effect_can_report_it(tmp_path: Path, witness: Path, hook_type: str) -> None:
    iterated = listening(tmp_path, hook_type)
    iterated.iterate()
    effect = iterated.effect("1")
    fired = fire(iterated.hooks, hook_type, {**effect.request.data, "runId": "r1"})
    assert fired.status == "executed"
    assert told(witness, hook_type)["effectId"] == effect.effect_id


def test_hooks_of_an_untrusted_repository_are_remarked_on(tmp_path: Path, witness: Path) -> None:
    put(repository_hooks(tmp_path), ON_ITERATION_START, "a.sh")
    iterated = IteratedRun(tmp_path, GATE)
    found = iterated.iterate()
    (warning,) = found.warnings
    assert warning.startswith(f"the hooks in {tmp_path}/.a5c/hooks did not run")
    assert warning.endswith("run `bridle doctor --trust`.")
    assert found.hook_status == "untrusted"
    assert order(witness) == []


def test_failing_hooks_change_nothing_about_the_run(tmp_path: Path, witness: Path) -> None:
    for hook_type in (ON_ITERATION_START, ON_ITERATION_END, ON_STEP_DISPATCH, ON_BREAKPOINT, ON_RUN_COMPLETE):
        put(repository_hooks(tmp_path), hook_type, "a.sh", "#!/bin/sh\nexit 1\n")
    trust(tmp_path, home())
    iterated = IteratedRun(tmp_path, GATE)
    iterated.iterate()
    iterated.post("1", "built")
    iterated.iterate()
    iterated.post("2", {"approved": True})
    found = iterated.iterate()
    assert found.status == "completed"
    assert found.hook_status == "error"
    assert len(found.warnings) == 3


# ---- ctx.hook

ASKS = """
async def process(inputs, ctx):
    first = await ctx.hook("custom", {"n": 1})
    work = await ctx.task(step, first["output"])
    second = await ctx.hook("custom", {"n": 2}, label="again")
    return [first["status"], work, second["output"]]
"""
COUNTER = """#!/bin/bash
echo x >> "$WITNESS/runs"
echo "{\\"count\\": $(wc -l < "$WITNESS/runs"), \\"told\\": $HOOK_PAYLOAD}"
"""


def runs_of(witness: Path) -> int:
    path = witness / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_hook_of_the_process_runs_once_however_often_it_is_replayed(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "a.sh", COUNTER)
    iterated = IteratedRun(tmp_path, ASKS)
    for _ in range(3):
        iterated.iterate()
    assert runs_of(witness) == 1
    assert iterated.types() == ["BRIDLE_HOOK_REQUESTED", "BRIDLE_HOOK_RESOLVED", "EFFECT_REQUESTED"]
    iterated.post("1", "work")
    output: Any = iterated.iterate().output
    assert output[:2] == ["executed", "work"]
    assert (output[2]["count"], output[2]["told"]["n"], output[2]["told"]["runId"]) == (2, 2, "r1")


def test_a_hook_that_is_missing_is_recorded_as_such(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, "async def process(inputs, ctx):\n    return await ctx.hook('custom')\n")
    assert iterated.iterate().output == {
        "hookType": "custom",
        "status": "no-hooks-configured",
        "hooks": [],
        "output": None,
    }


def test_another_hook_than_recorded_has_diverged(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "a.sh", COUNTER)
    iterated = IteratedRun(tmp_path, ASKS)
    iterated.iterate()
    count = len(iterated.entries())
    for wrong in (ASKS.replace('"n": 1', '"n": 7'), ASKS.replace('"custom", {"n": 1}', '"other", {"n": 1}')):
        iterated.write(wrong)
        with pytest.raises(
            Exception, match=r"process\.py:\d+: hook call H000001 .* the journal has one of type 'custom'"
        ):
            iterated.iterate()
    assert len(iterated.entries()) == count


@pytest.mark.parametrize("number", ["1e999", "NaN", '{"a": -Infinity}'])
def test_a_hook_that_prints_a_number_that_json_does_not_have_has_printed_text(tmp_path: Path, number: str) -> None:
    source = "async def process(inputs, ctx):\n    return (await ctx.hook('custom'))['output']\n"
    put(repository_hooks(tmp_path), "custom", "a.sh", f"echo '{number}'")
    trust(tmp_path, home())
    assert IteratedRun(tmp_path, source).iterate().output is None


def test_a_hook_that_an_edit_moved_back_is_not_run_again(tmp_path: Path, witness: Path) -> None:
    """Its result is recorded before the new step that the process now waits for first."""
    put(user_hooks(), "custom", "a.sh", COUNTER)
    source = "async def process(inputs, ctx):\n    return (await ctx.hook('custom'))['output']['count']\n"
    iterated = IteratedRun(tmp_path, source.replace("return", "await ctx.task(step, 1, key='last'); return"))
    iterated.iterate()
    iterated.post("last")
    iterated.write(
        source.replace("return", "count =") + "    await ctx.task(step, 1, key='last')\n    await ctx.task(step, 2)\n"
    )
    iterated.iterate()
    iterated.write(
        "async def process(inputs, ctx):\n"
        "    await ctx.task(step, 0, key='first')\n"
        "    found = await ctx.hook('custom')\n"
        "    await ctx.task(step, 1, key='last')\n"
        "    await ctx.task(step, 2)\n"
        "    return found['output']['count']\n"
    )
    assert [action.effect.step_id for action in iterated.iterate().actions] == ["first"]
    iterated.post("first")
    assert [action.effect.step_id for action in iterated.iterate().actions] == ["S000001"]
    iterated.post("1")
    assert iterated.iterate().output == 1
    assert runs_of(witness) == 1


@pytest.mark.parametrize("hook_type", ["../x", "", 7])
def test_a_type_that_is_no_name_is_refused_where_the_process_asks(tmp_path: Path, hook_type: object) -> None:
    iterated = IteratedRun(tmp_path, f"async def process(inputs, ctx):\n    await ctx.hook({hook_type!r})\n")
    found = iterated.iterate()
    assert found.status == "failed"
    assert found.failure is not None
    assert re.search(r"the hook type .* \(at .*process\.py:10\)", found.failure.message)
    assert iterated.types() == ["RUN_FAILED"]


def test_results_that_come_in_while_a_hook_runs_are_delivered_before_its_own(tmp_path: Path, witness: Path) -> None:
    """The hook posts a result itself: the turn at the journal is free while it runs."""
    source = """
        async def first(ctx):
            await ctx.task(step, 1)
            ctx.log("task")

        async def second(ctx):
            await ctx.hook("custom")
            ctx.log("hook")

        async def process(inputs, ctx):
            await asyncio.gather(first(ctx), second(ctx))
            return "both"
        """
    iterated = IteratedRun(tmp_path, source)
    post = f"bridle task:post {iterated.run} $(ls {iterated.run}/tasks) --status ok --value-inline 1"
    put(user_hooks(), "custom", "a.sh", f"#!/bin/bash\n{post}\n")
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    iterated.hooks = Hooks(tmp_path, dict(os.environ))
    found = iterated.iterate()
    assert found.output == "both"
    words = [entry.data["message"] for entry in iterated.entries() if entry.type == "PROCESS_LOG"]
    assert words == ["task", "hook"]
    resolved = [entry.type for entry in iterated.entries() if entry.type.endswith("_RESOLVED")]
    assert resolved == ["EFFECT_RESOLVED", "BRIDLE_HOOK_RESOLVED"]


def test_a_hook_that_was_under_way_when_bridle_died_runs_again(tmp_path: Path, witness: Path) -> None:
    put(user_hooks(), "custom", "a.sh", COUNTER)
    iterated = IteratedRun(tmp_path, ASKS)
    iterated.iterate()
    for path in sorted((iterated.run / "journal").iterdir())[2:]:
        path.unlink()  # as if it had died before the result was written
    for path in (iterated.run / "state").iterdir():
        path.unlink()
    assert [entry.type for entry in iterated.entries()][1:] == ["BRIDLE_HOOK_REQUESTED"]
    found = iterated.iterate()
    assert runs_of(witness) == 2
    assert task_of(found.actions[0])["inputs"]["count"] == 2


def test_a_hook_that_prints_too_many_levels_has_failed_and_the_run_goes_on(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx):\n    return await ctx.hook('custom')\n"
    put(repository_hooks(tmp_path), "custom", "a.sh", f"echo '{'[' * 600}{']' * 600}'")
    trust(tmp_path, home())
    output = IteratedRun(tmp_path, source).iterate().output
    assert (output["status"], output["output"]) == ("error", None)
    assert "nested more than" in output["hooks"][0]["error"]


def test_a_hook_that_prints_a_lone_surrogate_has_printed_a_replacement_character(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx):\n    return (await ctx.hook('custom'))['output']\n"
    put(repository_hooks(tmp_path), "custom", "a.sh", """echo '{"a": "\\ud800"}'""")
    trust(tmp_path, home())
    assert IteratedRun(tmp_path, source).iterate().output == {"a": "\ufffd"}
