"""The Stop hook, case by case: what a session's file, its run, its transcript and its payload may be like."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.hooks.stop_message import PROMPT_LIMIT_CHARACTERS
from bridle.hosts.sessions import session_file
from bridle.journal.format import layout
from tests.hosts.fixtures.hook_project import (
    PROMPT,
    Project,
    append_entries,
    contents,
    entries,
    session_of,
    stop_entries,
)
from tests.hosts.fixtures.stop_hook_cases import (
    AGENT,
    CASES,
    COMPLETED,
    HELD,
    OVER,
    PROMISE,
    SAME,
    Case,
    fill_in_folder,
    frontmatter,
    last_entry,
    prepare_case,
    spoil,
    without_pack,
)


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(CASES) >= 46
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_stop_ends_as_the_table_says(case: Case, tmp_path: Path) -> None:
    project = Project(tmp_path)
    path = prepare_case(case, project)
    run = project.runs / "r"
    before = contents(tmp_path)
    payload = (
        fill_in_folder(case.payload, tmp_path)
        if isinstance(case.payload, bytes)
        else project.payload(**fill_in_folder(case.payload, tmp_path))
    )

    done = project.hook(payload, environment=fill_in_folder(case.environment, tmp_path))

    assert done.code == 0
    assert fill_in_folder(case.stderr, tmp_path) in done.stderr
    assert bool(done.stderr) == bool(case.stderr), "a person is told of trouble, and of nothing else"
    assert ("decision" in done.document) == (case.reason == "continue_loop")
    after = contents(tmp_path)
    check_session(case, path, before, after)
    check_journal(case, run, before, after)
    check_words(case, done.document, run)
    if case.stderr:
        assert fill_in_folder(case.stderr, tmp_path) in project.log.read_text(encoding="utf-8")


def check_session(case: Case, path: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    name = f".a5c/state/{path.name}"
    assert [key for key in after if key.startswith(".a5c/state/")] == [
        key for key in before if key.startswith(".a5c/state/")
    ]
    if case.then == SAME:
        assert after.get(name) == before.get(name)
        return
    now, then = session_of(path), session_file.parse(path, before[name]).session
    assert (now.active, now.iteration) == (case.then == HELD, then.iteration + (case.then == HELD))
    assert (now.run_id, now.max_iterations, now.started_at) == (then.run_id, then.max_iterations, then.started_at)
    assert session_file.parse(path, after[name]).body == session_file.parse(path, before[name]).body
    assert (now.last_iteration_at != then.last_iteration_at) == (case.then == HELD)
    assert all(seconds > 0 for seconds in now.iteration_times)


def check_journal(case: Case, run: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    new = [name for name in after if name.startswith(".a5c/runs/") and name not in before and "/state/" not in name]
    if case.reason is None:
        assert new == []
        assert [name for name in before if name.startswith(".a5c/runs/") and before[name] != after.get(name)] == []
        return
    assert [name.rpartition("/")[0] for name in new] == [".a5c/runs/r/journal"]
    entry = stop_entries(run)[-1]
    assert entries(run)[-1].data == entry
    assert entry["sessionId"] == "s"
    assert entry["reason"] == case.reason
    assert entry["decision"] == ("block" if case.reason == "continue_loop" else "approve")
    assert entry["iteration"] == session_file.parse(run, before[".a5c/state/s.md"]).session.iteration
    assert entry["hasPromise"] is case.has_promise
    is_looked_at = case.reason not in ("max_iterations_reached", "session_inactive") or case.then == OVER
    if case.kinds is not None:
        assert entry["pendingKinds"] == case.kinds
    if not is_looked_at or case.reason == "max_iterations_reached":
        assert (entry["runState"], entry["pendingKinds"]) == ("", "")


def check_words(case: Case, document: dict[str, Any], run: Path) -> None:
    if case.reason != "continue_loop":
        assert document == {}
        return
    assert list(document) == ["decision", "reason", "systemMessage"]
    assert str(run) in document["reason"]
    assert document["reason"].endswith(f"\n\n{PROMPT}")
    assert [words for words in case.words if words not in document["reason"]] == []
    iteration, state = stop_entries(run)[-1]["iteration"] + 1, stop_entries(run)[-1]["runState"]
    assert document["reason"].startswith(f"Bridle iteration {iteration} | ")
    assert document["systemMessage"].startswith(f"Bridle iteration {iteration}/")
    assert document["systemMessage"].endswith(f" [{state}]")


def test_a_session_without_a_limit_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    project.session(max_iterations=0)
    assert project.stop().document["systemMessage"] == "Bridle iteration 4/unlimited [waiting]"


def test_the_harness_of_the_run_precedes_the_entry(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT, harness="claude-code")
    project.session()
    project.stop()
    assert next(iter(stop_entries(run)[-1].items())) == ("harness", "claude-code")


def test_a_body_that_is_no_text_is_kept_and_can_be_printed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    path = project.session()
    path.write_bytes(frontmatter() + b"\xff\xfe---\n\n\x00")
    done = project.stop()
    assert done.document["reason"].endswith("Build the thing\n��---\n\n\x00")
    assert path.read_bytes().endswith(b"Build the thing\n\xff\xfe---\n\n\x00")


def test_words_beyond_all_measure_are_cut(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    project.session().write_bytes(frontmatter() + b"x" * (PROMPT_LIMIT_CHARACTERS + 1))
    reason = project.stop().document["reason"]
    assert reason.endswith("x […]")
    assert len(reason) < PROMPT_LIMIT_CHARACTERS + 1000


def test_after_a_session_was_let_go_the_stops_are_counted_anew(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    path = project.session()
    limit = {"BRIDLE_NO_PROGRESS_STOPS": "3"}
    seen = []
    for _ in range(3):
        for _ in range(2):
            assert project.stop(environment=limit).stderr == ""
        assert "(no_progress): the last 3 stops added nothing else" in project.stop(environment=limit).stderr
        seen += [entry["reason"] for entry in stop_entries(run)[-3:]]
        file = session_file.read(path)
        assert file is not None
        session_file.write(file.with_session(file.session.changed(active=True)))
    assert seen == ["continue_loop", "continue_loop", "no_progress"] * 3


def test_an_agent_that_makes_progress_is_never_let_go(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run()
    path = project.session()
    for number in range(6):
        append_entries(run, f"ask:e{number}/agent" if number % 2 == 0 else f"ok:e{number - 1}")
        assert "decision" in project.stop(environment={"BRIDLE_NO_PROGRESS_STOPS": "2"}).document
    assert session_of(path).iteration == 9


def test_where_nothing_can_be_written_the_session_may_end(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    path = project.session()
    before = path.read_bytes()
    done = project.stop(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert (done.code, done.document) == (0, {})
    assert "ulimit -f" in done.stderr
    assert path.read_bytes() == before
    assert stop_entries(run) == []


def test_an_entry_that_lies_ahead_of_the_clock_is_followed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    last = last_entry(project)
    last.rename(last.with_name("000002.70000000000000000000000000.json"))
    without_pack(project)
    project.session()
    assert "decision" in project.stop().document
    assert entries(run)[-1].ulid > "70000000000000000000000000"


def test_the_command_to_call_is_one_that_the_shell_takes(tmp_path: Path) -> None:
    project = Project(tmp_path / "it's a $HOME `folder`")
    run = project.run(AGENT)
    project.session()
    reason = project.stop().document["reason"]
    command = reason.split("Then call `")[1].split("--json`")[0]
    assert command.endswith(f"run:iterate '{str(run).replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}' ")


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_program_is_named_as_the_shell_finds_it(tmp_path: Path, is_on_path: bool) -> None:
    project = Project(tmp_path)
    project.run("")
    project.session()
    program = tmp_path / "bin" / "bridle"
    program.parent.mkdir()
    if is_on_path:
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    reason = project.stop(environment={"PATH": f"{os.defpath}:{program.parent}"}).document["reason"]
    called = reason.split("when you call `")[1].split(" run:iterate")[0]
    assert called == "bridle" if is_on_path else os.path.isabs(called) and os.access(called, os.X_OK)


def test_where_the_journal_takes_no_entry_the_session_stays_as_it_was(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    last = last_entry(project)
    last.rename(last.with_name("000002.7ZZZZZZZZZZZZZZZZZZZZZZZZZ.json"))
    without_pack(project)
    path = project.session()
    before = path.read_bytes()
    done = project.stop()
    assert done.document == {}
    assert "no id can follow" in done.stderr
    assert path.read_bytes() == before
    assert stop_entries(run) == []


def test_a_session_that_was_bound_without_knowing_the_plugin_is_held(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    bound = project.session()
    plugin = tmp_path / "plugin"
    project.hook(project.payload(), "--plugin-root", str(plugin), hook_type="session-start")
    baseline = plugin / session_file.PLUGIN_STATE / "s.md"
    before = baseline.read_bytes()
    assert project.stop("--plugin-root", str(plugin)).document["decision"] == "block"
    assert (session_of(bound).iteration, baseline.read_bytes(), len(stop_entries(run))) == (4, before, 1)


def test_stops_in_the_row_of_another_session_do_not_hide_the_proof(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(COMPLETED)
    project.session()
    project.session("other")
    for _ in range(3):
        project.hook(project.payload("other"))
    assert project.hook(project.payload(last_assistant_message=PROMISE)).document == {}
    assert [entry["sessionId"] for entry in stop_entries(run)] == ["other", "other", "other", "s"]
    assert session_of(project.state / "other.md").active


def test_a_run_that_cannot_be_read_does_not_even_get_a_lock_file(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    spoil(lambda text: b"")(project)
    (run / layout.LOCK_FILE).unlink()
    path = project.session()
    before = sorted(file.name for file in (*run.iterdir(), *path.parent.iterdir()))
    assert project.stop().document == {}
    assert sorted(file.name for file in (*run.iterdir(), *path.parent.iterdir())) == before
