"""The commands about a host's session: their documents, their error codes, what they change."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import new_file
from tests.cli.fixtures.machine_commands import bridle
from tests.hosts.fixtures.session_folder import SINCE, SessionFolder, make_session, refusal

STATE_FIELDS = ["active", "iteration", "maxIterations", "runId", "startedAt", "lastIterationAt", "iterationTimes"]
BAD_IDS = ["../x", ".", "..", "a/b", "x" * 300, "a\nb", "\u202ex", "${AGENT_SESSION_ID}"]
ABOUT_A_SESSION = ["init", "associate", "resume", "state", "update", "check-iteration"]


@pytest.fixture
def place(tmp_path: Path) -> SessionFolder:
    return SessionFolder(tmp_path)


# all of them


@pytest.mark.parametrize("command", ABOUT_A_SESSION)
def test_a_command_without_a_session_says_so(command: str, place: SessionFolder) -> None:
    done = bridle(f"session:{command}", "--state-dir", place.state, "--json", cwd=place.folder)
    assert refusal(done)["error"] == "MISSING_SESSION_ID"
    assert list(place.folder.iterdir()) == []


@pytest.mark.parametrize("command", ABOUT_A_SESSION)
def test_a_folder_of_session_files_that_is_empty_text_is_refused(command: str, place: SessionFolder) -> None:
    done = bridle(f"session:{command}", "--session-id", "s1", "--state-dir", "", "--json", cwd=place.folder)
    assert refusal(done)["error"] == "MISSING_STATE_DIR"


@pytest.mark.parametrize("command", ["associate", "resume"])
def test_a_command_that_binds_needs_a_run(command: str, place: SessionFolder) -> None:
    place.put(make_session())
    assert refusal(place.session(command))["error"] == "MISSING_RUN_ID"
    refused = refusal(place.session(command, "--run-id", "../../etc"))
    assert (refused["error"], "the run id" in refused["message"]) == ("USAGE", True)
    assert place.file().session.run_id == ""


@pytest.mark.parametrize("session", BAD_IDS, ids=ascii)
def test_an_id_that_could_lead_elsewhere_is_refused(session: str, place: SessionFolder) -> None:
    done = bridle("session:init", f"--session-id={session}", "--state-dir", place.state, "--json", cwd=place.folder)
    refused = refusal(done)
    assert (refused["error"], "the session id" in refused["message"]) == ("USAGE", True)
    assert list(place.folder.iterdir()) == []


def test_an_inherited_session_id_is_the_last_resort_and_is_reported(place: SessionFolder) -> None:
    words = ("session:state", "--state-dir", place.state, "--json", "--harness", "claude-code")
    done = bridle(*words, cwd=place.folder, AGENT_SESSION_ID="old")
    assert (done.document["found"], done.document["stateFile"]) == (False, str(place.path("old")))
    assert "'old' was inherited through $AGENT_SESSION_ID" in done.stderr
    given = bridle(*words, "--session-id", "s1", cwd=place.folder, AGENT_SESSION_ID="old")
    assert (given.document["stateFile"], given.stderr) == (str(place.path()), "")


def test_the_file_is_found_by_the_plugin_and_in_the_project_above(place: SessionFolder) -> None:
    below = place.folder / "src" / "deep"
    below.mkdir(parents=True)
    plugin = place.folder / "plugin"
    words = ("--session-id", "s1", "--plugin-root", plugin, "--json")
    made = bridle("session:init", *words, cwd=below).document
    assert made["stateFile"] == str(plugin / "skills/babysit/state/s1.md")
    bridle("session:init", "--session-id", "s2", "--json", cwd=place.folder)
    found = bridle("session:state", "--session-id", "s2", "--plugin-root", plugin, "--json", cwd=below).document
    assert (found["found"], found["stateFile"]) == (True, str(place.folder / ".a5c/state/s2.md"))


def test_the_file_that_is_bound_is_meant_although_the_plugin_has_another(place: SessionFolder) -> None:
    """A session begins with a file in the plugin; a command that does not know the plugin binds one in the project."""
    begun = place.folder / "plugin" / session_file.PLUGIN_STATE / "s1.md"
    bound = place.folder / session_file.PROJECT_STATE / "s1.md"
    session_file.write(new_file(begun, make_session(), ""))
    session_file.write(new_file(bound, make_session(run_id="r1"), "Build it"))
    words = ("--session-id", "s1", "--plugin-root", place.folder / "plugin", "--json")
    told = bridle("session:state", *words, cwd=place.folder).document
    assert (told["stateFile"], told["state"]["runId"]) == (str(bound), "r1")
    assert bridle("session:update", "--delete", *words, cwd=place.folder).document["stateFile"] == str(bound)
    assert (begun.exists(), bound.exists()) == (True, False), "nothing holds the session any more"


def test_a_file_that_cannot_be_read_is_an_error_of_the_file_system(place: SessionFolder) -> None:
    place.path().mkdir(parents=True)
    codes = [refusal(place.session(command))["error"] for command in ("state", "update", "check-iteration", "init")]
    assert codes == ["FS_ERROR", "FS_ERROR", "FS_ERROR", "SESSION_EXISTS"]
    assert refusal(place.session("associate", "--run-id", "r"))["error"] == "FS_ERROR"


def test_users_are_informed_in_a_line(place: SessionFolder) -> None:
    done = bridle("session:init", "--session-id", "s1", "--state-dir", place.state, cwd=place.folder)
    assert done.stdout == f"[session:init] stateFile={place.path()} maxIterations=65000 runId=(none)\n"
    again = bridle("session:init", "--session-id", "s1", "--state-dir", place.state, cwd=place.folder)
    assert (again.code, again.stdout) == (1, "")
    assert again.stderr.startswith("bridle: the session file exists")


# session:init


def test_a_session_begins(place: SessionFolder) -> None:
    done = place.session("init", "--prompt", "Build é\n---\nit")
    assert done.document == {
        "stateFile": str(place.path()),
        "iteration": 1,
        "maxIterations": 65000,
        "runId": "",
    }
    file = place.file()
    assert (file.session.active, file.session.iteration, file.prompt) == (True, 1, "Build é\n---\nit")
    assert file.session.started_at == file.session.last_iteration_at != ""
    assert oct(place.path().stat().st_mode)[-3:] == "600"


def test_a_session_begins_with_a_run_and_a_limit(place: SessionFolder) -> None:
    document = place.session("init", "--run-id", "r1", "--max-iterations", "0").document
    assert (document["runId"], document["maxIterations"]) == ("r1", 0)
    for wrong in ("-1", "many", "9" * 30):
        assert refusal(place.session("init", "--max-iterations", wrong))["error"] == "USAGE"


def test_a_session_that_is_there_is_not_begun_again(place: SessionFolder) -> None:
    place.put(make_session(run_id="r1"))
    before = place.path().read_bytes()
    refused = refusal(place.session("init", "--run-id", "r2"))
    assert (refused["error"], refused["runId"]) == ("SESSION_EXISTS", "r1")
    assert refused["message"] == "Session already associated with run: r1"
    assert place.path().read_bytes() == before
    place.put(make_session())
    refused = refusal(place.session("init"))
    assert (refused["error"], "runId" in refused) == ("SESSION_EXISTS", False)


def test_of_several_that_begin_one_session_one_succeeds(place: SessionFolder) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: place.session("init", "--run-id", f"r{n}"), range(4)))
    assert sorted(one.code for one in done) == [0, 1, 1, 1]
    winner = next(one for one in done if one.code == 0)
    assert winner.document["runId"] == place.file().session.run_id


# session:state


def test_the_state_of_a_session_is_reported(place: SessionFolder) -> None:
    place.put(make_session(run_id="r1", iteration_times=(45, 62)), "Build\n\nit  ")
    document = place.session("state").document
    assert list(document) == ["found", "state", "prompt", "stateFile"]
    assert list(document["state"]) == STATE_FIELDS
    assert list(document["state"].values()) == [True, 3, 65000, "r1", SINCE, SINCE, [45, 62]]
    assert (document["found"], document["prompt"], document["stateFile"]) == (True, "Build\n\nit", str(place.path()))


def test_a_session_without_a_file_is_not_found_and_nothing_is_made(place: SessionFolder) -> None:
    assert place.session("state").document == {"found": False, "stateFile": str(place.path())}
    assert list(place.folder.iterdir()) == []


def test_garbage_in_the_file_is_survived_and_reported(place: SessionFolder) -> None:
    place.state.mkdir()
    place.path().write_bytes(b"\xff\xfe---\nactive: true\0")
    done = place.session("state")
    assert (done.document["state"]["active"], done.document["state"]["runId"]) == (False, "")
    assert len(done.document["faults"]) == 1
    assert str(place.path()) in done.stderr


# session:update


def test_what_is_given_is_changed_and_the_rest_stays(place: SessionFolder) -> None:
    place.put(make_session(run_id="r1", iteration_times=(1, 2)), "Build it")
    body = place.file().body
    document = place.session("update", "--iteration", "7").document
    assert (document["success"], document["stateFile"], list(document["state"])) == (
        True,
        str(place.path()),
        STATE_FIELDS,
    )
    assert list(document["state"].values()) == [True, 7, 65000, "r1", SINCE, SINCE, [1, 2]]
    later = "2026-03-02T11:00:00Z"
    words = ("--last-iteration-at", later, "--iteration-times", "4, 5,6,7")
    state = place.session("update", *words).document["state"]
    assert (state["iteration"], state["lastIterationAt"], state["iterationTimes"]) == (7, later, [5, 6, 7])
    assert place.file().body == body


@pytest.mark.parametrize(
    "words",
    [
        ("--iteration", "-1"),
        ("--iteration", "1.5"),
        ("--iteration", "9" * 30),
        ("--last-iteration-at", 'now"\nactive: false'),
        ("--last-iteration-at", "2026-03-02"),
        ("--iteration-times", "1,x"),
        ("--iteration-times", "1\nactive: false"),
    ],
    ids=ascii,
)
def test_a_value_that_the_file_cannot_hold_is_refused(words: tuple[str, str], place: SessionFolder) -> None:
    place.put(make_session())
    before = place.path().read_bytes()
    assert refusal(place.session("update", *words))["error"] == "USAGE"
    assert place.path().read_bytes() == before


def test_a_session_without_a_file_cannot_be_changed(place: SessionFolder) -> None:
    assert refusal(place.session("update", "--iteration", "7"))["error"] == "SESSION_NOT_FOUND"
    assert refusal(place.session("associate", "--run-id", "r"))["error"] == "SESSION_NOT_FOUND"
    assert list(place.folder.iterdir()) == []


def test_a_session_is_deleted_once(place: SessionFolder) -> None:
    place.put(make_session())
    found = [place.session("update", "--delete").document for _ in range(2)]
    assert found == [
        {"success": True, "deleted": True, "stateFile": str(place.path())},
        {"success": True, "deleted": False, "stateFile": str(place.path())},
    ]
    assert list(place.state.iterdir()) == []


# session:check-iteration


def test_a_session_below_its_limit_may_go_round(place: SessionFolder) -> None:
    place.put(make_session(run_id="r1", max_iterations=4, iteration_times=(45, 62, 58)), "Build it")
    before = place.path().read_bytes()
    document = place.session("check-iteration").document
    assert list(document) == [
        "found",
        "shouldContinue",
        "nextIteration",
        "updatedIterationTimes",
        "iteration",
        "maxIterations",
        "runId",
        "prompt",
    ]
    times = document.pop("updatedIterationTimes")
    assert (times[:2], len(times)) == ([62, 58], 3)
    assert list(document.values()) == [True, True, 4, 3, 4, "r1", "Build it"]
    assert place.path().read_bytes() == before


def test_a_session_at_its_limit_may_not_and_is_marked_inactive(place: SessionFolder) -> None:
    place.put(make_session(run_id="r1", max_iterations=3, iteration_times=(8, 9, 8)), "Build it")
    body = place.file().body
    documents = [place.session("check-iteration").document for _ in range(2)]
    assert documents[0] == documents[1]
    assert documents[0].pop("stopMessage")
    assert documents[0] == {
        "found": True,
        "shouldContinue": False,
        "reason": "max_iterations_reached",
        "averageTime": 8.3,
        "iteration": 3,
        "maxIterations": 3,
        "runId": "r1",
        "prompt": "Build it",
    }
    assert (place.file().session.active, place.file().session.iteration, place.file().body) == (False, 3, body)


def test_quick_iterations_and_a_limit_of_zero_stop_nothing(place: SessionFolder) -> None:
    place.put(make_session(iteration=10**9, max_iterations=0, iteration_times=(1, 1, 1)))
    assert place.session("check-iteration").document["shouldContinue"] is True


def test_a_session_that_is_not_there_or_not_active_may_not_go_round(place: SessionFolder) -> None:
    missing = place.session("check-iteration").document
    assert missing.pop("stopMessage")
    assert missing == {
        "found": False,
        "shouldContinue": False,
        "reason": "session_not_found",
        "iteration": 0,
        "maxIterations": 0,
        "runId": "",
        "prompt": "",
    }
    assert list(place.folder.iterdir()) == []
    place.put(make_session(active=False))
    assert place.session("check-iteration").document["reason"] == "session_inactive"


# session:associate


def test_a_session_is_bound_to_a_run(place: SessionFolder) -> None:
    place.make_run("r1")
    place.put(make_session(active=False), "Build it")
    done = place.session("associate", "--run-id", "r1")
    assert (done.document, done.stderr) == ({"stateFile": str(place.path()), "runId": "r1"}, "")
    session = place.file().session
    assert (session.run_id, session.active, session.iteration, place.file().prompt) == ("r1", True, 3, "Build it")


def test_a_session_is_not_bound_to_a_run_that_does_not_exist(place: SessionFolder) -> None:
    place.put(make_session())
    before = place.path().read_bytes()
    for more in ((), ("--force",)):
        assert refusal(place.session("associate", "--run-id", "gone", *more))["error"] == "RUN_NOT_FOUND"
    assert place.path().read_bytes() == before


def test_an_inactive_session_is_bound_to_its_own_run_again(place: SessionFolder) -> None:
    place.make_run("r1", is_waiting=True)
    place.put(make_session(run_id="r1", active=False))
    assert place.session("associate", "--run-id", "r1").code == 0
    assert (place.file().session.run_id, place.file().session.active) == ("r1", True)
    again = refusal(place.session("associate", "--run-id", "r1"))
    assert (again["error"], again["existingRunId"]) == ("RUN_ALREADY_ASSOCIATED", "r1")
    assert "--force" not in again["remedy"]
    assert "nothing to do" in again["remedy"]


@pytest.mark.parametrize("end", ["RUN_COMPLETED", "RUN_FAILED", "RUN_HALTED"])
def test_a_session_whose_run_has_ended_is_bound_anew_by_force_alone(end: str, place: SessionFolder) -> None:
    place.make_run("old", end=end)
    place.make_run("new")
    place.put(make_session(run_id="old"))
    refused = refusal(place.session("associate", "--run-id", "new"))
    assert (refused["error"], refused["existingRunId"]) == ("RUN_ALREADY_ASSOCIATED", "old")
    assert place.file().session.run_id == "old"
    assert place.session("associate", "--run-id", "new", "--force").code == 0
    assert place.file().session.run_id == "new"


def test_a_session_is_not_taken_from_a_run_that_goes_on(place: SessionFolder) -> None:
    place.make_run("old", is_waiting=True)
    place.put(make_session(run_id="old"))
    refused = refusal(place.session("associate", "--run-id", "new", "--force"))
    assert (refused["error"], refused["existingRunId"]) == ("RUN_STILL_ACTIVE", "old")
    assert place.file().session.run_id == "old"


def test_a_run_that_cannot_be_read_keeps_nobody_who_forces(place: SessionFolder) -> None:
    place.put(make_session(run_id="gone"))
    place.make_run("new")
    assert place.session("associate", "--run-id", "new", "--force").code == 0


# session:resume


def test_a_run_is_gone_on_with_in_another_session(place: SessionFolder) -> None:
    place.make_run("r1", is_waiting=True, prompt="Build the API")
    document = place.session("resume", "--run-id", "r1", "--max-iterations", "9").document
    assert document == {
        "stateFile": str(place.path()),
        "runId": "r1",
        "runState": "waiting",
        "processId": "demo",
    }
    file = place.file()
    assert (file.session.active, file.session.iteration, file.session.max_iterations) == (True, 1, 9)
    assert file.session.run_id == "r1"
    assert file.prompt.endswith("Build the API")
    assert "run:iterate" in file.prompt


def test_a_failed_run_is_gone_on_with(place: SessionFolder) -> None:
    place.make_run("r1", end="RUN_FAILED")
    assert place.session("resume", "--run-id", "r1").document["runState"] == "failed"


def test_a_broken_run_is_gone_on_with_so_that_it_can_be_repaired(place: SessionFolder) -> None:
    run = place.make_run("r1")
    (run / "run.json").write_text("{", encoding="utf-8")
    done = place.session("resume", "--run-id", "r1")
    assert (done.document["runState"], done.document["processId"]) == ("unknown", "unknown")
    assert "run.json" in done.stderr


@pytest.mark.parametrize("end", ["RUN_COMPLETED", "RUN_HALTED"])
def test_a_run_with_nothing_left_to_do_is_not_gone_on_with(end: str, place: SessionFolder) -> None:
    place.make_run("r1", end=end)
    refused = refusal(place.session("resume", "--run-id", "r1"))
    assert (refused["error"], refused["runId"]) == ("RUN_COMPLETED", "r1")
    assert not place.state.exists()


def test_a_run_that_is_not_there_is_not_gone_on_with(place: SessionFolder) -> None:
    assert refusal(place.session("resume", "--run-id", "r1"))["error"] == "RUN_NOT_FOUND"
    assert list(place.folder.iterdir()) == []


def test_a_session_that_is_held_for_another_run_is_not_resumed_into_a_second_one(place: SessionFolder) -> None:
    place.make_run("old", is_waiting=True)
    place.make_run("new", is_waiting=True)
    place.put(make_session(run_id="old"))
    refused = refusal(place.session("resume", "--run-id", "new"))
    assert (refused["error"], refused["existingRunId"]) == ("RUN_STILL_ACTIVE", "old")
    place.put(make_session(run_id="old", active=False))
    assert place.session("resume", "--run-id", "new").code == 0
    assert place.file().session.run_id == "new"


# session:last-message


def said(*texts: str) -> str:
    lines = [
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        for text in texts
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("transcript", "expected"),
    [
        (said("first", "last"), {"found": True, "text": "last", "hasPromise": False, "promiseValue": None}),
        (
            said("done <promise> a\n b </promise>"),
            {"found": True, "text": "done <promise> a\n b </promise>", "hasPromise": True, "promiseValue": "a b"},
        ),
        (
            said("<promise>a</promise>", "more"),
            {"found": True, "text": "more", "hasPromise": False, "promiseValue": None},
        ),
        ("garbage\n{\n", {"found": False, "text": None, "hasPromise": False, "promiseValue": None}),
        ("", {"found": False, "text": None, "hasPromise": False, "promiseValue": None}),
    ],
    ids=["last", "promise", "earlier promise", "garbage", "empty"],
)
def test_the_last_message_of_a_transcript_is_reported(
    transcript: str, expected: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "t.jsonl").write_text(transcript, encoding="utf-8")
    done = bridle("session:last-message", "--transcript-path", "t.jsonl", "--json", cwd=tmp_path)
    assert done.document == expected


def test_a_transcript_that_is_not_there_or_cannot_be_read_is_no_failure(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    nothing = {"found": False, "text": None, "hasPromise": False, "promiseValue": None}
    for name, error in (("none", "TRANSCRIPT_NOT_FOUND"), ("pipe", "TRANSCRIPT_PARSE_ERROR")):
        done = bridle("session:last-message", "--transcript-path", name, "--json", cwd=tmp_path)
        assert (done.code, done.document) == (0, nothing | {"error": error})
