"""Tasks: what `define_task` takes, what a definition becomes, and the ready-made ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import bridle
from bridle.engine.process.define_task import DefinedTask, TaskContext, define_task
from bridle.engine.process.task_templates import breakpoint_task, node_task, orchestrator_task, sleep_task
from bridle.errors import BadTask
from tests.engine.fixtures.iterated_runs import IteratedRun, task_of

CONTEXT = TaskContext("E1", "demo:S000001:t", "t", "r1", "/runs/r1", "label", ("label",))


def defined(task: DefinedTask, arguments: Any = None) -> dict[str, Any]:
    return task.define(arguments, CONTEXT)


def test_the_package_offers_what_a_process_needs() -> None:
    assert bridle.define_task is define_task
    assert issubclass(bridle.EffectFailed, Exception)
    with pytest.raises(AttributeError, match="no_such_name"):
        bridle.no_such_name  # type: ignore[attr-defined]  # noqa: B018  # looking is the test


def test_a_task_is_defined_by_its_arguments_and_its_effect() -> None:
    task = define_task(" t ", lambda args, task: {"kind": "agent", "title": f"{args}", "agent": {"id": task.effect_id}})
    assert task.task_id == "t"
    assert defined(task, 5) == {"kind": "agent", "title": "5", "agent": {"id": "E1"}}


def test_kind_labels_and_description_can_be_given_once_for_all() -> None:
    task = define_task(
        "t", lambda args, task: {"labels": ["b"]}, kind="shell", labels=["a", "b"], description="does it"
    )
    assert defined(task) == {"kind": "shell", "description": "does it", "labels": ["b", "a"]}


def test_what_must_be_an_object_and_is_not_is_left_out() -> None:
    task = define_task("t", lambda args, task: {"kind": "x", "io": 1, "metadata": "no", "node": None, "own": 1})
    assert defined(task) == {"kind": "x", "own": 1}


@pytest.mark.parametrize("made", [None, "agent", [], {}, {"kind": ""}, {"kind": 3}, {"title": "no kind"}])
def test_a_definition_without_a_kind_is_refused(made: Any) -> None:
    with pytest.raises(BadTask, match="task t"):
        defined(define_task("t", lambda args, task: made))


@pytest.mark.parametrize(("task_id", "impl"), [("", len), ("  ", len), (3, len), ("t", None), ("t", {"kind": "agent"})])
def test_a_task_without_an_id_or_a_function_is_refused_with_its_place(task_id: Any, impl: Any) -> None:
    with pytest.raises(BadTask, match=r"test_define_task\.py:\d+"):
        define_task(task_id, impl)


def test_an_id_is_defined_once_in_a_process(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, "again = define_task('step', lambda args, task: {})\n", in_memory=True)
    with pytest.raises(Exception, match=r"'step' is defined twice: at .*process\.py:6 and at .*process\.py:9"):
        iterated.iterate()


def test_an_id_may_be_used_again_by_another_process(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        iterated = IteratedRun(tmp_path / name, "async def process(inputs, ctx): ...\n", in_memory=True)
        assert iterated.iterate().status == "completed"


def test_the_paths_of_a_task() -> None:
    assert CONTEXT.tasks_dir == "/runs/r1/tasks"
    assert CONTEXT.task_dir == "/runs/r1/tasks/E1"
    assert CONTEXT.to_task_relative_path("output.json") == "tasks/E1/output.json"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../../x"])
def test_a_path_that_leaves_the_folder_of_the_task_is_refused(name: str) -> None:
    with pytest.raises(BadTask):
        CONTEXT.to_task_relative_path(name)


def test_a_blob_is_kept_beside_the_task(tmp_path: Path) -> None:
    iterated = IteratedRun(
        tmp_path,
        """
        def define(args, task):
            return {"kind": "agent", "metadata": {"ref": task.create_blob_ref("rows", args)}}

        big = define_task("big", define)

        async def process(inputs, ctx):
            return await ctx.task(big, [1, 2, 3])
        """,
    )
    (action,) = iterated.iterate().actions
    ref = task_of(action)["metadata"]["ref"]
    assert ref.startswith(f"tasks/{action.effect.effect_id}/blobs/rows-")
    assert (iterated.run / ref).read_text() == "[\n  1,\n  2,\n  3\n]\n"


def test_a_node_task_leaves_secrets_out() -> None:
    task = node_task(
        "t", entry="a.js", args=lambda args, task: [args], env={"PATH": "/bin", "API_KEY": "x", "my_token": "y"}
    )
    assert defined(task, "--fast") == {
        "kind": "node",
        "title": "t",
        "node": {"entry": "a.js", "args": ["--fast"], "timeoutMs": 900_000, "env": {"PATH": "/bin"}},
        "metadata": {"redactedEnvKeys": ["API_KEY", "my_token"]},
    }


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: breakpoint_task("t", title="Ask"),
            {"kind": "breakpoint", "title": "Ask", "breakpoint": {"payload": {"a": 1}}},
        ),
        (
            lambda: breakpoint_task("t", payload=lambda args, task: args["a"]),
            {"kind": "breakpoint", "title": "t", "breakpoint": {"payload": 1}},
        ),
        (
            lambda: orchestrator_task("t"),
            {"kind": "orchestrator_task", "title": "t", "orchestratorTask": {"payload": {"a": 1}}},
        ),
        (
            lambda: sleep_task("t", until=datetime(2099, 1, 1, tzinfo=UTC)),
            {
                "kind": "sleep",
                "title": "t",
                "sleep": {"iso": "2099-01-01T00:00:00.000Z", "targetEpochMs": 4_070_908_800_000},
            },
        ),
    ],
)
def test_the_ready_made_tasks(make: Callable[[], DefinedTask], expected: dict[str, Any]) -> None:
    assert defined(make(), {"a": 1}) == expected
