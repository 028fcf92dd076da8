"""The SessionStart hook: the id is exported once and safely, the file is made once, and no session is ever broken."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridle.hosts.sessions import session_file
from tests.hosts.fixtures.hook_project import LIMIT_SECONDS, HookResult, Project, contents, session_of

HOSTILE = ["a'b", 'a"b', "a$HOME", "a`id`", "a;id", "a b", "a\u00e9", "a&&b", "a#b", "a!b", "a*", "~a", "a(b)", "$(id)"]


def begin(
    project: Project, session_id: object = "s", exports: Path | str | None = None, *words: str, **fields: object
) -> HookResult:
    environment = {"CLAUDE_ENV_FILE": str(exports)} if exports is not None else {}
    payload = project.payload(session_id, hook_event_name="SessionStart", source="startup") | fields
    return project.hook(payload, *words, hook_type="session-start", environment=environment)


def quiet(done: HookResult) -> None:
    assert (done.code, done.stdout, done.stderr) == (0, b"{}\n", "")


def test_a_session_gets_its_id_exported_and_a_file_of_its_own(tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports.sh"
    quiet(begin(project, "sess-abc123", exports))
    assert exports.read_text(encoding="utf-8") == 'export AGENT_SESSION_ID="sess-abc123"\n'
    path = project.state / "sess-abc123.md"
    session = session_of(path)
    assert (session.active, session.iteration, session.max_iterations, session.run_id) == (True, 1, 65_000, "")
    assert session.started_at == session.last_iteration_at != ""
    assert path.stat().st_mode & 0o777 == exports.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b'---\nactive: true\niteration: 1\nmax_iterations: 65000\nrun_id: ""\n')


def test_a_session_that_continues_is_informed_of_nothing_twice(tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports.sh"
    path = project.session(iteration=7)
    before = path.read_bytes()
    for source in ("startup", "resume", "compact", "resume"):
        quiet(begin(project, "s", exports, source=source))
    assert exports.read_text(encoding="utf-8") == 'export AGENT_SESSION_ID="s"\n'
    assert path.read_bytes() == before


def test_what_other_hooks_exported_stays(tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports.sh"
    exports.write_text("export OTHER=1 # without an end", encoding="utf-8")
    quiet(begin(project, "s", exports))
    text = exports.read_text(encoding="utf-8")
    assert text == 'export OTHER=1 # without an end\nexport AGENT_SESSION_ID="s"\n'


def test_a_new_session_in_the_same_file_has_the_last_word(tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports.sh"
    for session_id in ("first", "second", "second", "first"):
        quiet(begin(project, session_id, exports))
    shown = subprocess.run(
        ["sh", "-c", '. "$1"; printf %s "$AGENT_SESSION_ID"', "sh", str(exports)],
        capture_output=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    assert shown.stdout == b"first"
    assert len(exports.read_text(encoding="utf-8").splitlines()) == 3


def test_the_program_of_the_plugin_is_on_the_path_of_later_commands_if_it_exists(tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports, program = tmp_path / "exports.sh", tmp_path / "plug in" / "bin" / "bridle"
    words = ("--plugin-root", str(program.parents[1]))
    quiet(begin(project, "s", exports, *words))
    assert exports.read_text(encoding="utf-8") == 'export AGENT_SESSION_ID="s"\n'
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho this one\n")
    program.chmod(0o755)
    for _ in range(2):
        quiet(begin(project, "s", exports, *words))
    assert exports.read_text(encoding="utf-8").count("PATH") == 2  # one line, with the old value in it
    shown = subprocess.run(
        ["sh", "-c", '. "$1"; bridle', "sh", str(exports)],
        capture_output=True,
        check=True,
        timeout=LIMIT_SECONDS,
        env={"PATH": os.defpath},
    )
    assert shown.stdout == b"this one\n"


@pytest.mark.parametrize("session_id", HOSTILE)
def test_whatever_the_id_the_shell_reads_it_as_it_is(session_id: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports.sh"
    for _ in range(2):
        quiet(begin(project, session_id, exports))
    for shell in ("sh", "bash"):
        shown = subprocess.run(
            [shell, "-c", '. "$1"; printf %s "$AGENT_SESSION_ID"', shell, str(exports)],
            capture_output=True,
            check=True,
            timeout=LIMIT_SECONDS,
        )
        assert (shown.stdout.decode(), shown.stderr) == (session_id, b"")
    assert exports.read_text(encoding="utf-8").count("AGENT_SESSION_ID") == 1
    assert session_of(session_file.path_of(project.state, session_id)).active


@pytest.mark.parametrize(
    ("session_id", "words"),
    [
        ("../s", "path separator"),
        ("a/b", "path separator"),
        ("a\nexport PATH=/evil", "control character"),
        ("-s", "starts with"),
        ("s" * 200, "longer than"),
        ("\ud800", "cannot be"),
        (None, "has no session_id"),
        (7, "has no session_id"),
        ("", "has no session_id"),
    ],
)
def test_an_id_that_cannot_be_used_is_refused_and_nothing_is_written(
    session_id: object, words: str, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    done = begin(project, session_id, tmp_path / "exports.sh")
    assert (done.code, done.stdout) == (0, b"{}\n")
    assert words in done.stderr
    assert words in project.log.read_text(encoding="utf-8")
    assert [name for name in contents(tmp_path) if name != "home/hooks.log"] == []


@pytest.mark.parametrize("payload", [b"", b"[]", b"{", b"\xff", b"null"])
def test_a_payload_that_cannot_be_read_breaks_nothing(payload: bytes, tmp_path: Path) -> None:
    project = Project(tmp_path)
    done = project.hook(payload, hook_type="session-start", environment={"CLAUDE_ENV_FILE": str(tmp_path / "exports")})
    assert (done.code, done.stdout) == (0, b"{}\n")
    assert "must be a JSON object" in done.stderr
    assert not (tmp_path / "exports").exists()


def test_without_a_file_for_exports_the_session_has_its_file_all_the_same(tmp_path: Path) -> None:
    project = Project(tmp_path)
    quiet(begin(project))
    assert session_of(project.state / "s.md").active


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file", "/dev/full", "/dev/null"])
def test_exports_that_cannot_be_written_are_reported_and_the_session_has_its_file(kind: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    exports = tmp_path / "exports"
    if kind == "folder":
        exports.mkdir()
    elif kind == "pipe":
        os.mkfifo(exports)
    elif kind == "below a file":
        exports.write_bytes(b"")
        exports /= "x"
    else:
        exports = Path(kind)
    done = begin(project, "s", exports)
    assert (done.code, done.stdout) == (0, b"{}\n")
    assert "AGENT_SESSION_ID is not exported" in done.stderr
    assert session_of(project.state / "s.md").active


def test_a_state_folder_that_cannot_be_made_is_reported_and_the_id_is_exported(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / ".a5c").write_bytes(b"")
    done = begin(project, "s", tmp_path / "exports")
    assert (done.code, done.stdout) == (0, b"{}\n")
    assert "the session file is not created" in done.stderr
    assert (tmp_path / "exports").read_text(encoding="utf-8") == 'export AGENT_SESSION_ID="s"\n'


@pytest.mark.parametrize("text", [b"", b"garbage", b"---\nactive: false\n---\n"])
def test_a_file_that_is_there_is_never_overwritten(text: bytes, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.state.mkdir(parents=True)
    (project.state / "s.md").write_bytes(text)
    quiet(begin(project))
    assert (project.state / "s.md").read_bytes() == text


def test_a_link_in_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.state.mkdir(parents=True)
    (project.state / "s.md").symlink_to(tmp_path / "elsewhere")
    quiet(begin(project))
    assert not (tmp_path / "elsewhere").exists()


def test_sixteen_starts_of_one_session_make_one_file(tmp_path: Path) -> None:
    project = Project(tmp_path)
    hooks = [project.start(hook_type="session-start") for _ in range(16)]
    for hook in hooks:
        assert hook.communicate(b'{"session_id": "s"}', timeout=LIMIT_SECONDS) == (b"{}\n", b"")
    assert [path.name for path in project.state.iterdir() if not path.name.startswith(".")] == ["s.md"]
    assert [path.name for path in project.state.iterdir() if path.name.endswith(".tmp")] == []


# Each folder is written as it stands in the interface: the first that is given is the one.
PLACES = [
    (["--state-dir", "given"], {"BABYSITTER_STATE_DIR": "HERE/variable"}, "given"),
    (["--plugin-root", "plugin"], {"BABYSITTER_STATE_DIR": "HERE/variable"}, "variable"),
    (["--plugin-root", "plugin"], {}, "plugin/skills/babysit/state"),
    ([], {"CLAUDE_PLUGIN_ROOT": "HERE/plugin"}, "plugin/skills/babysit/state"),
    ([], {"CLAUDE_PROJECT_DIR": "HERE/project"}, ".a5c/state"),
]


@pytest.mark.parametrize(("words", "environment", "place"), PLACES)
def test_the_file_is_where_the_interface_says_and_the_stop_hook_finds_it_there(
    words: list[str], environment: dict[str, str], place: str, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    project.run("ask:a/agent")
    environment = {name: value.replace("HERE", str(tmp_path)) for name, value in environment.items()}
    quiet(project.hook(project.payload(), *words, hook_type="session-start", environment=environment))
    path = tmp_path / place / "s.md"
    assert [name for name in contents(tmp_path) if name.endswith("s.md")] == [f"{place}/s.md"]
    file = session_file.read(path)
    assert file is not None
    session_file.write(file.with_session(file.session.changed(run_id="r")))
    done = project.hook(project.payload(), *words, environment=environment)
    assert done.document["decision"] == "block"
    assert session_of(path).iteration == 2


@pytest.mark.parametrize(
    ("environment", "place"), [({"CLAUDE_PROJECT_DIR": "HERE/project"}, "project/.a5c/state"), ({}, ".a5c/state")]
)
def test_without_a_folder_in_the_payload_the_project_or_the_current_one_is_meant(
    environment: dict[str, str], place: str, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    environment = {name: value.replace("HERE", str(tmp_path)) for name, value in environment.items()}
    quiet(project.hook({"session_id": "s"}, hook_type="session-start", environment=environment))
    assert (tmp_path / place / "s.md").is_file()


def test_a_host_without_sessions_gets_an_empty_answer(tmp_path: Path) -> None:
    project = Project(tmp_path)
    quiet(project.hook(project.payload(), "--harness", "none", hook_type="session-start"))
    assert contents(tmp_path) == {}
