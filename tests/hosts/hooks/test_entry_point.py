"""The program that a host starts: its command line, its streams, its log, and what becomes of a mistake of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.hosts.adapters import NO_HOST
from bridle.hosts.hooks import entry_point, hook_log
from bridle.hosts.hooks.hook_protocol import Answer, HookCall
from tests.fixtures.bridle_program import BRIDLE
from tests.hosts.fixtures.hook_project import HOOK, LIMIT_SECONDS, SOURCE, Project, contents, session_of, stop_entries

COMMAND = (str(BRIDLE), "hook:run")
PROGRAMS = {"the plugin's way": HOOK, "the command": COMMAND}

USAGE = [
    ((), "MISSING_HOOK_TYPE"),
    (("--hook-type", ""), "MISSING_HOOK_TYPE"),
    (("--hook-type", "pre-tool-use"), "UNKNOWN_HOOK_TYPE"),
    (("--hook-type=stop", "--harness", "netscape"), "UNSUPPORTED_HARNESS"),
    (("--hook-type", "stop", "--nonsense"), "USAGE"),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.run("ask:a/agent")
    project.session()
    return project


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_ways_hold_a_session(program: str, project: Project) -> None:
    done = project.stop("--harness", "claude-code", "--json", program=PROGRAMS[program])
    assert (done.code, done.document["decision"], done.stderr) == (0, "block", "")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("words", "code"), USAGE)
def test_a_wrong_command_line_is_an_error_of_its_own(
    program: str, words: tuple[str, ...], code: str, project: Project
) -> None:
    before = contents(project.folder)
    done = subprocess.run(
        [*PROGRAMS[program], *words, "--json"],
        input=json.dumps(project.payload()).encode(),
        env=project.environment(),
        cwd=project.folder,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    error = json.loads(done.stderr)
    assert error["error"] == code
    assert error["message"]
    assert contents(project.folder) == before


def test_the_plugin_of_an_earlier_version_finds_its_entry_point(project: Project) -> None:
    entry = f"import sys; sys.path.append({SOURCE!r}); from bridle.hosts.hook import start; start(sys.argv[1:])"
    done = project.stop("--json", program=(sys.executable, "-I", "-S", "-c", entry))
    assert (done.code, done.document["decision"], done.stderr) == (0, "block", "")


def test_a_value_may_stand_behind_an_equals_sign(project: Project) -> None:
    assert project.stop("--harness=claude-code", f"--state-dir={project.state}").document["decision"] == "block"


def test_without_a_harness_the_host_is_the_formats_own(project: Project) -> None:
    assert project.stop().document["decision"] == "block"


def test_no_host_holds_no_session(project: Project) -> None:
    before = contents(project.folder)
    done = project.stop("--harness", "none")
    assert (done.code, done.stdout, done.stderr) == (0, b"{}\n", "")
    assert contents(project.folder) == before


def test_another_host_is_held_by_the_same_rules_but_its_transcript_is_not_read(project: Project) -> None:
    project.say("<promise>x</promise>")
    done = project.stop("--harness", "codex")
    assert done.document["decision"] == "block"
    assert stop_entries(project.runs / "r")[-1]["hasPromise"] is False


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed_breaks_nothing(stream: str, project: Project) -> None:
    number = {"stdin": 0, "stdout": 1, "stderr": 2}[stream]
    with project.start(preexec_fn=lambda: os.close(number)) as process:
        stdout, _ = process.communicate(json.dumps(project.payload()).encode(), timeout=LIMIT_SECONDS)
    assert process.returncode == 0
    if stream == "stderr":
        assert json.loads(stdout)["decision"] == "block"
    if stream == "stdin":
        assert stdout == b"{}\n"


def test_a_host_that_does_not_read_the_answer_breaks_nothing(project: Project) -> None:
    with project.start() as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        process.communicate(json.dumps(project.payload()).encode(), timeout=LIMIT_SECONDS)
    assert process.returncode == 0


def test_a_payload_in_many_pieces_is_one_payload(project: Project) -> None:
    with project.start() as process:
        assert process.stdin is not None
        for byte in json.dumps(project.payload()).encode():
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
        stdout, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert json.loads(stdout)["decision"] == "block"


def test_half_a_letter_in_a_folders_name_can_be_printed(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    project = Project(folder)
    project.run("ask:a/agent")
    project.session()
    done = project.hook({"session_id": "s"})
    assert done.document["decision"] == "block"
    assert "caf\udce9" in done.document["reason"]


def defect(call: HookCall) -> Answer:
    return Answer({"decision": str(1 // len(call.stdin))})


def refusal(call: HookCall) -> Answer:
    raise DiskError("the disk is gone", remedy="Bring it back.")


def test_a_mistake_of_ours_lets_the_session_go_and_is_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    call = HookCall(NO_HOST, b"", {"BRIDLE_HOME": str(tmp_path)})
    assert entry_point.respond(defect, call) == 0
    shown = capfd.readouterr()
    assert shown.out == "{}\n"
    for told in (shown.err, (tmp_path / "hooks.log").read_text(encoding="utf-8")):
        assert "so it does not block: ZeroDivisionError" in told
        assert "in defect" in told, "where it happened"


def test_a_refusal_lets_the_session_go_and_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert entry_point.respond(refusal, HookCall(NO_HOST, b"", {"BRIDLE_HOME": str(tmp_path)})) == 0
    shown = capfd.readouterr()
    assert (shown.out, "the disk is gone\n  Bring it back." in shown.err) == ("{}\n", True)


LOGS = [
    ({"BABYSITTER_LOG_DIR": "/l", "BRIDLE_HOME": "/b", "HOME": "/h"}, "/l/hooks.log"),
    ({"BRIDLE_HOME": "/b", "HOME": "/h"}, "/b/hooks.log"),
    ({"HOME": "/h"}, "/h/.bridle/hooks.log"),
    ({}, None),
]


@pytest.mark.parametrize(("environment", "path"), LOGS)
def test_the_log_is_where_a_user_looks_for_it(environment: dict[str, str], path: str | None) -> None:
    assert hook_log.path_of(environment) == path


def test_the_log_grows_by_whole_lines_for_this_user_alone(tmp_path: Path) -> None:
    environment = {"BRIDLE_HOME": str(tmp_path / "new" / "home")}
    hook_log.append(["one", "two"], environment)
    hook_log.append(["half \udce9"], environment)
    path = tmp_path / "new" / "home" / "hooks.log"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["one", "two", "half \\udce9"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_error_at_every_stop_does_not_fill_the_disk(tmp_path: Path) -> None:
    environment = {"BRIDLE_HOME": str(tmp_path)}
    for _ in range(40):
        hook_log.append(["x" * 100_000], environment)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(sizes) == ["hooks.log", "hooks.log.old"]
    assert sum(sizes.values()) < 3 * hook_log.LOG_LIMIT_BYTES


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_a_log_that_cannot_be_written_breaks_nothing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "hooks.log"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    hook_log.append(["trouble"], {"BRIDLE_HOME": str(tmp_path)})
    assert not (tmp_path / "elsewhere").exists()


def test_an_error_is_in_the_log_and_the_session_untouched(project: Project) -> None:
    path = project.session(run_id="gone")
    done = project.stop()
    assert done.document == {}
    assert "the run gone of this session" in project.log.read_text(encoding="utf-8")
    assert session_of(path).active
