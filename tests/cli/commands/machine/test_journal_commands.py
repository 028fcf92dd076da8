"""The commands that agents and hooks call about a run: their documents, their exit codes, what they change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.cli.fixtures.machine_commands import PROCESS, bridle, create, waiting_run
from tests.journal.fixtures.entry_steps import make_request
from tests.journal.fixtures.recorded_samples import NAMES, contents, sample
from tests.journal.fixtures.sample_runs import long_run

# run:create


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a process in it."""
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    return tmp_path


def test_a_run_is_created_and_where_it_is_is_reported(project: Path) -> None:
    document = create(project).document
    run = Path(document["runDir"])
    assert run == project / ".a5c" / "runs" / document["runId"]
    assert document["entry"] == "../../../process.py#process"
    assert FileReader(run).position().state == "created"
    assert len(FileReader(run).metadata().completion_proof) == 32


def test_everything_that_a_run_can_be_created_with_is_kept(project: Path) -> None:
    (project / "in.json").write_text('{"a": [1, "é"]}', encoding="utf-8")
    flags = ["--run-id", "my-run", "--inputs", "in.json", "--process-revision", "v2", "--request", "req-1"]
    flags += ["--prompt", "Build it", "--harness", "claude-code", "--non-interactive", "--max-iterations", "5"]
    flags += ["--plugin-root", ".", "--state-dir", "/s", "--runs-dir", "elsewhere"]
    document = create(project, *flags).document
    assert (document["runId"], document["runDir"]) == ("my-run", str(project / "elsewhere" / "my-run"))
    store = FileReader(project / "elsewhere" / "my-run")
    found = store.metadata().document
    assert (found["processRevision"], found["request"], found["prompt"]) == ("v2", "req-1", "Build it")
    assert (found["harness"], found["nonInteractive"]) == ("claude-code", True)
    assert store.inputs(store.state().created) == {"a": [1, "é"]}


def test_two_runs_have_different_ids_and_proofs(project: Path) -> None:
    runs = [FileReader(Path(create(project).document["runDir"])).metadata() for _ in range(2)]
    assert runs[0].run_id != runs[1].run_id
    assert runs[0].completion_proof != runs[1].completion_proof


def test_a_run_id_that_exists_is_refused_and_changes_nothing(project: Path) -> None:
    create(project, "--run-id", "r")
    before = contents(project)
    assert create(project, "--run-id", "r").error == "RUN_EXISTS"
    assert contents(project) == before


@pytest.mark.parametrize("run_id", ["../../escaped", "a/b", ".."])
def test_a_run_id_that_leads_elsewhere_is_refused_and_nothing_is_made(run_id: str, project: Path) -> None:
    before = contents(project)
    assert create(project, "--run-id", run_id).error == "USAGE"
    assert contents(project) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("--inputs", "missing.json"),
        ("--inputs", "process.py"),
        ("--entry", "./missing.py#process"),
        ("--entry", "./process.py#absent"),
        ("--entry", "#process"),
        ("--max-iterations", "many"),
        ("--unheard-of",),
        ("extra",),
        ("--prompt",),
    ],
)
def test_what_cannot_be_created_is_refused_and_nothing_is_made(arguments: tuple[str, ...], project: Path) -> None:
    before = contents(project)
    done = create(project, *arguments)
    assert (done.code, done.stdout) == (1, "")
    assert json.loads(done.stderr)["message"]
    assert contents(project) == before


def test_a_dry_run_tells_its_plan_and_makes_nothing(project: Path) -> None:
    before = contents(project)
    document = create(project, "--dry-run", "--run-id", "r").document
    assert (document["dryRun"], document["runId"], document["entry"]) == (True, "r", f"{project}/process.py#process")
    assert list(document) == (
        ["dryRun", "runsDir", "processId", "entry", "runId", "request", "processRevision", "inputsPath"]
    )
    assert contents(project) == before


def test_for_people_a_run_is_reported_on_one_line(project: Path) -> None:
    done = bridle("run:create", "--process-id", "demo", "--entry", "process.py", "--run-id", "r", cwd=project)
    assert done.stdout == f"[run:create] runId=r runDir={project}/.a5c/runs/r entry=../../../process.py#process\n"


# run:status


@pytest.mark.parametrize("name", NAMES)
def test_the_status_of_every_sample(name: str, tmp_path: Path) -> None:
    run = sample(name, tmp_path)
    before = contents(run)
    document = bridle("run:status", run, "--json").document
    position = FileReader(run).position()
    assert document["state"] == position.state
    assert (document["lastEvent"]["seq"], document["lastEvent"]["ulid"]) == (position.seq, position.ulid)
    assert (run / document["lastEvent"]["path"]).name == document["lastEvent"]["filename"]
    assert document["pendingByKind"] == position.pending_by_kind()
    assert document["metadata"]["journalHead"] == {"seq": position.seq, "ulid": position.ulid}
    assert (document["completionProof"] is not None) == (position.state == "completed")
    assert contents(run) == before


def test_a_status_has_the_formats_fields(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=1, pending=2)
    document = bridle("run:status", made.run, "--json").document
    assert " ".join(document) == (
        "state lastEvent pendingByKind pendingEffectsSummary needsMoreIterations metadata completionProof"
    )
    assert " ".join(document["lastEvent"]) == "seq ulid type recordedAt filename path data"
    assert document["pendingEffectsSummary"] == {
        "totalPending": 2,
        "countsByKind": {"node": 2},
        "autoRunnableCount": 2,
    }
    assert document["needsMoreIterations"] is True
    line = bridle("run:status", made.run).stdout
    assert line.startswith("[run:status] state=waiting last=EFFECT_REQUESTED#000005 ")
    assert line.endswith("pending[total]=2 pending[node]=2\n")


def test_a_run_is_named_by_id_path_or_a_garbled_path(project: Path) -> None:
    create(project, "--run-id", "r")
    for argument in ("r", ".a5c/runs/r", f"{project}/.a5c/runs/.a5c/runs/r"):
        assert bridle("run:status", argument, "--json", cwd=project).document["state"] == "created"
    elsewhere = bridle("run:status", "r", "--json", BABYSITTER_RUNS_DIR=str(project / ".a5c" / "runs"))
    assert elsewhere.document["state"] == "created"


@pytest.mark.parametrize("command", ["run:status", "run:events", "task:list", "run:halt", "run:rebuild-state"])
def test_a_run_that_is_not_there_is_reported_and_not_made(command: str, tmp_path: Path) -> None:
    assert bridle(command, tmp_path / "missing", "--json").error == "RUN_NOT_FOUND"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run:status", "task:list", "run:halt", "run:rebuild-state"])
def test_a_broken_journal_is_an_error_that_names_the_file_and_changes_nothing(command: str, tmp_path: Path) -> None:
    run = sample("run-parallel", tmp_path)
    torn = sorted((run / "journal").iterdir())[5]
    torn.write_bytes(torn.read_bytes()[:50])
    before = {path: text for path, text in contents(run).items() if path != "bridle.lock"}
    done = bridle(command, run, "--json")
    assert done.error == "JOURNAL_BROKEN"
    assert torn.name in done.stderr
    assert {path: text for path, text in contents(run).items() if path != "bridle.lock"} == before


# run:events


def test_events_are_listed_filtered_reversed_and_limited(tmp_path: Path) -> None:
    run = sample("run-completed", tmp_path)
    document = bridle("run:events", run, "--json").document
    assert [event["seq"] for event in document["events"]] == [1, 2, 3, 4, 5, 6]
    assert document["metadata"]["stateVersion"] == 6
    resolved = bridle("run:events", run, "--filter-type", "effect_resolved", "--json").document["events"]
    assert [event["seq"] for event in resolved] == [3, 5]
    newest = bridle("run:events", run, "--reverse", "--limit", "2", "--json").document["events"]
    assert [event["seq"] for event in newest] == [6, 5]
    lines = bridle("run:events", run, "--limit", "1").stdout.splitlines()
    assert lines == ["[run:events] total=6 matching=6 showing=1", "- #000001 RUN_CREATED 2026-11-15T01:06:48.788Z"]


def test_a_broken_journal_is_still_listed_saying_so(tmp_path: Path) -> None:
    run = sample("run-completed", tmp_path)
    torn = sorted((run / "journal").iterdir())[2]
    torn.write_bytes(b"")
    done = bridle("run:events", run, "--json")
    assert done.code == 0
    assert [event["seq"] for event in done.document["events"]] == [1, 2, 4, 5, 6]
    assert (done.document["metadata"], torn.name in done.document["problems"][0]) == (None, True)
    assert torn.name in done.stderr
    torn.unlink()
    gap = bridle("run:events", run, "--json")
    assert "expected 3, found 4" in gap.document["problems"][0]


# task:list and task:show


def test_tasks_are_listed_with_the_formats_fields(tmp_path: Path) -> None:
    run = sample("run-parallel", tmp_path)
    tasks = bridle("task:list", run, "--json").document["tasks"]
    assert len(tasks) == 6
    assert " ".join(tasks[0]) == (
        "effectId taskId stepId status kind label labels taskDefRef inputsRef resultRef stdoutRef stderrRef"
        " requestedAt resolvedAt"
    )
    assert [task["effectId"] for task in tasks] == sorted(task["effectId"] for task in tasks)
    assert (tasks[0]["inputsRef"], tasks[0]["stdoutRef"]) == (None, None)
    pending = bridle("task:list", run, "--pending", "--json").document["tasks"]
    assert [(task["kind"], task["status"], task["resultRef"]) for task in pending] == [("sleep", "requested", None)]
    agents = bridle("task:list", run, "--kind", "AGENT", "--json").document["tasks"]
    assert [task["label"] for task in agents] == ["build:api", "build:web", "build:cli"]
    assert bridle("task:list", run, "--pending").stdout.startswith("[task:list] pending=1\n- 01M7EB80XJ")


def test_a_task_is_shown_and_its_secrets_only_when_asked_for_twice(tmp_path: Path) -> None:
    run = sample("run-completed", tmp_path)
    effect_id = sorted((run / "tasks").iterdir())[0].name
    quiet = bridle("task:show", run, effect_id, "--json").document
    assert (quiet["effect"]["effectId"], quiet["task"], quiet["result"], quiet["largeResult"]) == (
        effect_id,
        None,
        None,
        None,
    )
    show = ("task:show", run, effect_id, "--json")
    assert bridle(*show, BABYSITTER_ALLOW_SECRET_LOGS="true").document["task"] is None
    shown = bridle(*show, "--verbose", BABYSITTER_ALLOW_SECRET_LOGS="true").document
    assert (shown["task"]["title"], shown["result"]["result"]) == ("add 2+3", {"sum": 5})
    assert f"[task:show] {effect_id} [node resolved_ok] first-add" in bridle("task:show", run, effect_id).stdout
    assert bridle("task:show", run, "missing", "--json").error == "EFFECT_NOT_FOUND"


def test_a_large_result_is_shown_by_where_it_is(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    (tmp_path / "large.json").write_text(json.dumps("x" * 1_200_000), encoding="utf-8")
    bridle("task:post", run, effect_id, "--status", "ok", "--value", tmp_path / "large.json")
    large = bridle("task:show", run, effect_id, "--json").document["largeResult"]
    assert large.startswith(f"tasks/{effect_id}/blobs/result-")
    assert json.loads((run / large).read_text(encoding="utf-8")) == "x" * 1_200_000


# task:post


def test_a_posted_value_is_committed_and_what_was_written_is_reported(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    times = ("--started-at", "2026-11-15T01:00:00.000Z", "--finished-at", "2026-11-15T01:00:01.000Z")
    done = bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", '{"b": 1}', *times, "--json")
    ref = f"tasks/{effect_id}/result.json"
    assert (done.code, done.document) == (
        0,
        {
            "status": "ok",
            "committed": {"resultRef": ref, "startedAt": times[1], "finishedAt": times[3]},
            "stdoutRef": None,
            "stderrRef": None,
            "resultRef": ref,
        },
    )
    store = FileReader(run)
    assert store.result(store.state().effects[effect_id]).value == {"b": 1}
    snapshot = json.loads((run / "state" / "state.json").read_text(encoding="utf-8"))
    assert snapshot["journalHead"]["seq"] == store.position().seq


@pytest.mark.parametrize("where", ["run", "here", "absolute", "stdin"])
def test_a_value_is_read_from_the_runs_folder_from_here_or_from_stdin(where: str, project: Path) -> None:
    create(project, "--run-id", "r")
    run = project / ".a5c" / "runs" / "r"
    with FileStore(run).write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id))
    (run / "value.json").write_text('{"from": "the run"}\n', encoding="utf-8")
    name, stdin = "value.json", ""
    if where == "here":
        name = ".a5c/runs/r/value.json"
    elif where == "absolute":
        name = str(run / "value.json")
    elif where == "stdin":
        name, stdin = "-", '{"from": "the run"}'
    done = bridle("task:post", "r", effect_id, "--status", "ok", "--value", name, "--json", cwd=project, stdin=stdin)
    assert (done.code, done.stderr) == (0, "")
    store = FileReader(run)
    assert store.result(store.state().effects[effect_id]).value == {"from": "the run"}


def test_a_null_is_a_value(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    assert bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", "null").code == 0
    store = FileReader(run)
    assert store.result(store.state().effects[effect_id]).status == "ok"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, {"name": "Error", "message": "Task reported failure"}),
        ('{"name": "ExitError", "message": "exit 1", "data": {"code": 1}}',) * 2,
        ('{"message": "only words"}', {"name": "Error", "message": "only words"}),
        ('"only text"', {"name": "Error", "message": "only text"}),
        ('{"code": 3}', {"name": "Error", "message": '{"code":3}', "data": {"code": 3}}),
    ],
)
def test_a_posted_error_is_committed_and_that_is_a_success(given: str | None, kept: object, tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    error = () if given is None else ("--error", "-")
    done = bridle("task:post", run, effect_id, "--status", "error", *error, "--json", stdin=given or "")
    assert (done.code, done.document["status"]) == (0, "error")
    store = FileReader(run)
    result = store.result(store.state().effects[effect_id])
    assert (result.status, result.error) == ("error", json.loads(kept) if isinstance(kept, str) else kept)


def test_output_and_metadata_are_kept_with_a_result(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    (tmp_path / "out").write_bytes(b"said\xff\n")
    (tmp_path / "meta.json").write_text('{"cost": 0.5}', encoding="utf-8")
    flags = ("--stdout-file", tmp_path / "out", "--stderr-ref", "logs/err", "--metadata", tmp_path / "meta.json")
    done = bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", "1", *flags, "--json")
    assert (done.document["stdoutRef"], done.document["stderrRef"]) == (f"tasks/{effect_id}/stdout.log", "logs/err")
    assert (run / f"tasks/{effect_id}/stdout.log").read_bytes() == b"said\xff\n"
    result = json.loads((run / f"tasks/{effect_id}/result.json").read_text(encoding="utf-8"))
    assert result["metadata"] == {"cost": 0.5}


REFUSED = [
    (("--value-inline", "1"), "USAGE"),
    (("--status", "done", "--value-inline", "1"), "USAGE"),
    (("--status", "ok"), "USAGE"),
    (("--status", "ok", "--value", "missing.json"), "USAGE"),
    (("--status", "ok", "--value", "-"), "USAGE"),
    (("--status", "ok", "--value-inline", " "), "USAGE"),
    (("--status", "ok", "--value-inline", "{"), "USAGE"),
    (("--status", "ok", "--value-inline", "NaN"), "USAGE"),
    (("--status", "ok", "--value-inline", "1", "--value", "-"), "USAGE"),
    (("--status", "ok", "--value-inline", "1", "--error", "-"), "USAGE"),
    (("--status", "error", "--value-inline", "1"), "USAGE"),
    (("--status", "ok", "--value-inline", "1", "--stdout-ref", "a", "--stdout-file", "b"), "USAGE"),
    (("--status", "ok", "--value-inline", "1", "--invocation-key", "another"), "INVOCATION_KEY_MISMATCH"),
]


@pytest.mark.parametrize(("flags", "error"), REFUSED)
def test_a_refused_post_says_why_and_changes_nothing(flags: tuple[str, ...], error: str, tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    before = contents(run)
    assert bridle("task:post", run, effect_id, *flags, "--json").error == error
    assert contents(run) == before


def test_a_second_post_and_one_for_no_effect_are_refused_and_change_nothing(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    post = ("task:post", run, effect_id, "--status", "ok", "--json", "--value-inline")
    assert bridle(*post, '"first"').code == 0
    before = contents(run)
    done = bridle(*post, '"second"')
    assert done.error == "EFFECT_NOT_REQUESTED"
    assert "is not requested (status=resolved_ok)" in done.stderr
    nobody = bridle("task:post", run, "NOBODY", "--status", "ok", "--value-inline", "1", "--json")
    assert nobody.error == "EFFECT_NOT_FOUND"
    escaping = bridle("task:post", run, "../../x", "--status", "ok", "--value-inline", "1", "--json")
    assert escaping.error == "EFFECT_NOT_FOUND"
    assert contents(run) == before


def test_a_dry_post_tells_its_plan_and_changes_nothing(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    before = contents(run)
    done = bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", "1", "--dry-run", "--json")
    assert (done.document["status"], done.document["dryRun"], done.document["plan"]["effectId"]) == (
        "skipped",
        True,
        effect_id,
    )
    assert contents(run) == before


def test_errors_for_people_are_words_on_stderr(tmp_path: Path) -> None:
    run, effect_id = waiting_run(tmp_path)
    done = bridle("task:post", run, effect_id, "--status", "ok")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr == "bridle: --status ok needs --value or --value-inline\n"


# run:halt, run:rebuild-state, run:repair-journal, health


def test_a_run_is_halted_once_and_for_good(tmp_path: Path) -> None:
    run, _ = waiting_run(tmp_path)
    first = bridle("run:halt", run, "--reason", "enough", "--json")
    assert (first.code, first.document["status"], first.document["changed"]) == (0, "halted", True)
    again = bridle("run:halt", run, "--json")
    assert (again.code, again.document["changed"], again.document["seq"]) == (0, False, first.document["seq"])
    status = bridle("run:status", run, "--json").document
    assert (status["state"], status["lastEvent"]["data"], status["completionProof"]) == (
        "halted",
        {"reason": "enough"},
        None,
    )
    assert bridle("run:halt", run, "--final-status", "failed", "--json").error == "USAGE"


def test_a_run_can_be_sealed_as_failed(tmp_path: Path) -> None:
    run, _ = waiting_run(tmp_path)
    bridle("run:halt", run, "--final-status", "failed", "--reason", "no use")
    entry = list(FileReader(run).entries())[-1]
    assert (entry.type, entry.data["error"]) == ("RUN_FAILED", {"name": "ManualHalt", "message": "no use"})
    assert bridle("run:halt", sample("run-completed", tmp_path), "--json").error == "USAGE"


def test_derived_state_is_written_again_from_the_journal(tmp_path: Path) -> None:
    run = sample("run-parallel", tmp_path)
    (run / "state" / "state.json").write_text("garbage", encoding="utf-8")
    (run / "state" / "bridle.pack").write_text("garbage", encoding="utf-8")
    plan = bridle("run:rebuild-state", run, "--dry-run", "--json").document
    assert (plan["dryRun"], (run / "state" / "state.json").read_text(encoding="utf-8")) == (True, "garbage")
    document = bridle("run:rebuild-state", run, "--json").document
    assert (document["runDir"], document["metadata"]["stateRebuildReason"]) == (str(run), "cli_manual")
    snapshot = json.loads((run / "state" / "state.json").read_text(encoding="utf-8"))
    assert (snapshot["journalHead"]["seq"], snapshot["rebuildReason"]) == (12, "cli_manual")
    assert snapshot["pendingEffectsByKind"] == {"sleep": 1}
    assert (run / "state" / "bridle.pack").stat().st_size > 1000


def test_a_journal_is_repaired_with_a_backup(tmp_path: Path) -> None:
    run = sample("run-completed", tmp_path)
    torn = sorted((run / "journal").iterdir())[4]
    torn.write_bytes(b"{")
    before = contents(run)
    dry = bridle("run:repair-journal", run, "--dry-run", "--json").document
    assert (dry["dryRun"], dry["journal"]["droppedCorrupt"], contents(run)) == (True, 1, before)
    document = bridle("run:repair-journal", run, "--json").document
    assert document["journal"] == {
        "originalFiles": 6,
        "keptEvents": 5,
        "droppedCorrupt": 1,
        "droppedRequested": 0,
        "droppedResolved": 0,
        "missingEntries": 0,
        "restoredEntries": 0,
    }
    assert (document["repaired"], document["dropped"][0]["file"]) == (True, torn.name)
    assert Path(document["backupDir"]).name.startswith("journal.bak.")
    assert bridle("run:status", run, "--json").document["state"] == "completed"
    again = bridle("run:repair-journal", run, "--json").document
    assert (again["repaired"], again["backupDir"]) == (False, None)


def test_health_tells_what_works_here(tmp_path: Path) -> None:
    fresh = bridle("health", "--json", cwd=tmp_path)
    assert (fresh.code, fresh.document["status"]) == (0, "degraded")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".a5c" / "runs").mkdir(parents=True)
    ready = bridle("health", "--json", cwd=tmp_path).document
    assert (ready["status"], [check["name"] for check in ready["checks"]]) == (
        "healthy",
        ["version", "python", "runs-folder", "environment"],
    )
    assert list((tmp_path / ".a5c" / "runs").iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    broken = bridle("health", "--json", "--runs-dir", "file/runs", cwd=tmp_path)
    assert (broken.code, broken.document["status"]) == (1, "unhealthy")
    odd = bridle("health", "--json", cwd=tmp_path, BABYSITTER_MAX_ITERATIONS="many").document
    assert odd["status"] == "degraded"
