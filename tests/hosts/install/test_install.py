"""The plugin: what is written, how its hooks start, that it goes away again; as a library and by the command."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.command_table import COMMANDS
from bridle.cli.machine_interface.light_command import LightCommand
from bridle.errors import DiskError, UsageError
from bridle.hosts.hooks.list_skills import OWN_PLUGIN_FILE, list_skills
from bridle.hosts.install import install, locations
from bridle.hosts.install.install import LIST_FILE
from bridle.hosts.install.render_plugin import (
    ENTRY,
    GONE,
    HOOKS,
    PACKAGE,
    PROGRAM,
    SOURCE,
    Origin,
    hook_command,
    render,
)
from bridle.hosts.sessions.session_file import PLUGIN_STATE
from tests.fixtures.bridle_program import run_bridle

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
KILLS = 8
# One upgrade takes some thirty milliseconds: the kills fall all over it.
KILL_STEP_SECONDS = 0.004
ORIGIN = Origin(sys.executable, str(PACKAGE), "1.2.3")
ODD = "a b'c\"d $HOME `x` ;é"
"""A folder's name with everything that a shell would read as something else."""


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bridle(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_bridle(*words, cwd=cwd, variables=environment, limit_seconds=LIMIT_SECONDS)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def start_hook(command: str, payload: str = "{}", **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a hook as the host does: a line for the shell, the payload on standard input."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


# What is written


def test_nothing_is_left_to_be_filled_in(tmp_path: Path) -> None:
    for name, file in render(tmp_path / ODD, ORIGIN).items():
        assert not re.search(rb"@[A-Z]+@", file.data), name


def test_the_words_for_a_bridle_that_is_gone_are_safe_between_any_quotes() -> None:
    assert not set(GONE) & set("'\"\\$`")


def test_manifest_hooks_skills_and_commands_are_there(tmp_path: Path) -> None:
    files = render(tmp_path, ORIGIN)
    manifest = json.loads(files[".claude-plugin/plugin.json"].data)
    assert (manifest["name"], manifest["version"]) == ("bridle", "1.2.3")
    assert set(json.loads(files[HOOKS].data)["hooks"]) == {"SessionStart", "Stop"}
    expected = {f"commands/{name}.md" for name in ("start", "resume", "status", "doctor")}
    assert expected | {"skills/babysit/SKILL.md", "skills/score/SKILL.md", ENTRY, PROGRAM} <= set(files)


CALL = re.compile(r"(?:^    |`)bridle (\S+?)((?: [^`\n\\]*(?:\\\n)?)*)(?:`|$)", re.MULTILINE)
"""A command line of ours on a page: indented as a block, or between backquotes."""


def calls_on(path: Path) -> list[tuple[str, list[str]]]:
    """The commands of ours that a page tells to call, with the options that they are to be called with."""
    return [(name, re.findall(r"(?<= )--[a-z-]+", words)) for name, words in CALL.findall(path.read_text())]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.md")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_command_that_a_page_of_the_plugin_tells_to_call_exists_with_its_options(path: Path) -> None:
    for name, options in calls_on(path):
        command = importlib.import_module(COMMANDS[name].module or "").command
        if isinstance(command, LightCommand):
            assert set(options) <= set(command.options), (name, options)


def test_the_pages_of_the_plugin_tell_to_call_something() -> None:
    called = {name for path in SOURCE.rglob("*.md") for name, _ in calls_on(path)}
    needed = {"run:create", "run:iterate", "run:status", "task:post", "task:list", "session:resume", "session:state"}
    assert needed <= called
    (created,) = [options for name, options in calls_on(SOURCE / "skills/babysit/SKILL.md") if name == "run:create"]
    assert {"--harness", "--session-id", "--plugin-root", "--prompt", "--inputs"} <= set(created)


def test_a_session_never_gets_the_leave_to_answer_for_a_user() -> None:
    for path in SOURCE.rglob("*.md"):
        allowed = re.findall(r"^allowed-tools: (.*)$", path.read_text(), re.MULTILINE)
        assert not any("bridle answer" in one or "bridle *" in one for one in allowed), path


def test_the_plugin_of_a_package_that_was_not_installed_holds_no_session() -> None:
    """Loaded as it lies in the package, its hooks find no Python and let every session go."""
    command = json.loads((SOURCE / HOOKS).read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    done = start_hook(command.replace("@GONE@", GONE))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"systemMessage": GONE})


def test_its_skills_are_reported_by_the_names_that_claude_code_gives_them(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    (tmp_path / ".claude/skills/greet").mkdir(parents=True)
    assert list_skills(str(tmp_path), str(tmp_path / "p")) == (
        "skill:greet",
        "skill:bridle:babysit",
        "skill:bridle:score",
    )
    assert OWN_PLUGIN_FILE == LIST_FILE


def test_a_plugin_that_lies_among_the_skills_of_a_project_is_not_told_of_as_a_skill(tmp_path: Path) -> None:
    plugin = tmp_path / ".claude" / locations.HOST_FOLDER
    install.install(plugin, ORIGIN)
    (tmp_path / ".claude/skills/greet").mkdir()
    assert list_skills(str(tmp_path), str(plugin)) == ("skill:greet", "skill:bridle:babysit", "skill:bridle:score")


# How its hooks start


@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_a_hook_answers_from_any_folder(tmp_path: Path, event: str) -> None:
    folder = tmp_path / ODD
    install.install(folder, ORIGIN)
    done = start_hook(hook_command(folder, ORIGIN, event))
    assert (done.returncode, done.stdout.strip()) == (0, "{}"), done.stderr


def test_a_hook_is_one_process_and_that_is_the_interpreter(tmp_path: Path) -> None:
    """The shell that the host starts becomes the interpreter: both have the same number."""
    folder = tmp_path / ODD
    install.install(folder, ORIGIN)
    (folder / ENTRY).write_text("import os, sys; print(os.getpid(), os.getppid(), sys.flags.no_site)\n")
    command = hook_command(folder, ORIGIN, "Stop")
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as shell:
        said, _ = shell.communicate(timeout=LIMIT_SECONDS)
    assert said.split() == [str(shell.pid).encode(), str(os.getpid()).encode(), b"1"]


def test_settings_of_python_in_the_environment_change_no_hook(tmp_path: Path) -> None:
    fake = tmp_path / "fake" / "bridle"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise SystemExit('the wrong one')")
    install.install(tmp_path / "p", ORIGIN)
    environment = {"PYTHONPATH": str(fake.parent), "PYTHONHOME": str(fake), "PYTHONSTARTUP": str(fake / "x")}
    done = start_hook(hook_command(tmp_path / "p", ORIGIN, "Stop"), **environment)
    assert (done.returncode, done.stdout.strip()) == (0, "{}"), done.stderr


@pytest.mark.parametrize(
    "origin",
    [Origin("/nowhere/python", str(PACKAGE), "1"), Origin(sys.executable, "/nowhere", "1")],
    ids=["no Python", "no Bridle"],
)
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_a_hook_whose_bridle_is_gone_lets_the_session_go_and_says_so(
    tmp_path: Path, origin: Origin, event: str
) -> None:
    install.install(tmp_path / ODD, origin)
    done = start_hook(hook_command(tmp_path / ODD, origin, event))
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(answer) == {"systemMessage"}
    assert answer["systemMessage"].startswith(GONE)
    assert GONE in done.stderr


def test_a_hook_whose_plugin_is_gone_lets_the_session_go_and_says_so(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    command = hook_command(tmp_path / "p", ORIGIN, "Stop")
    shutil.rmtree(tmp_path / "p")
    done = start_hook(command)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"systemMessage": GONE})


def test_a_hook_whose_bridle_is_torn_lets_the_session_go_and_says_so(tmp_path: Path) -> None:
    """An upgrade that was killed half-way leaves files behind that are no Python."""
    torn = tmp_path / "torn" / "bridle" / "hosts" / "hooks"
    torn.mkdir(parents=True)
    (torn / "entry_point.py").write_text("def start(words:\n")
    origin = Origin(sys.executable, str(tmp_path / "torn"), "1")
    install.install(tmp_path / "p", origin)
    done = start_hook(hook_command(tmp_path / "p", origin, "Stop"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["systemMessage"].startswith(f"{GONE} (SyntaxError: ")


def test_a_session_whose_exports_cannot_be_written_still_gets_its_file(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    command = hook_command(tmp_path / "p", ORIGIN, "SessionStart")
    done = start_hook(command, '{"session_id": "s1"}', CLAUDE_ENV_FILE=str(tmp_path / "nowhere" / "exports"))
    assert (done.returncode, done.stdout.strip()) == (0, "{}")
    assert "AGENT_SESSION_ID is not exported" in done.stderr
    assert (tmp_path / "p" / PLUGIN_STATE / "s1.md").is_file()


def test_a_hook_that_breaks_lets_the_session_go_and_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "bridle" / "hosts" / "hooks"
    broken.mkdir(parents=True)
    (broken / "entry_point.py").write_text("def start(words): raise ValueError('a defect')\n")
    origin = Origin(sys.executable, str(tmp_path / "broken"), "1")
    install.install(tmp_path / "p", origin)
    done = start_hook(hook_command(tmp_path / "p", origin, "Stop"))
    assert done.returncode == 0
    assert "ValueError: a defect" in json.loads(done.stdout)["systemMessage"]


def test_the_shell_of_a_session_finds_the_program_of_the_plugin_whatever_its_folder_is_called(tmp_path: Path) -> None:
    install.install(tmp_path / ODD, ORIGIN)
    exports = tmp_path / "exports"
    exports.write_text("export MINE=1")
    for _ in range(2):
        payload = '{"session_id": "s1"}'
        done = start_hook(hook_command(tmp_path / ODD, ORIGIN, "SessionStart"), payload, CLAUDE_ENV_FILE=str(exports))
        assert (done.returncode, done.stdout.strip()) == (0, "{}"), done.stderr
    lines = exports.read_text().splitlines()
    assert (lines[0], len(lines)) == ("export MINE=1", 3), "said once, however often the session starts"
    found = start_hook(f". {exports}; command -v bridle; echo $MINE $AGENT_SESSION_ID", PATH="/usr/bin:/bin")
    assert found.stdout.splitlines() == [str(tmp_path / ODD / PROGRAM), "1 s1"]


def test_the_program_of_the_plugin_is_this_bridle_whatever_lies_in_the_current_folder(tmp_path: Path) -> None:
    install.install(tmp_path / ODD, ORIGIN)
    decoy = tmp_path / "here"
    (decoy / "bridle").mkdir(parents=True)
    (decoy / "bridle" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    words = [str(tmp_path / ODD / PROGRAM), "--version"]
    done = subprocess.run(words, cwd=decoy, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    assert re.fullmatch(r"bridle \d+\.\d+\.\d+\S*\n", done.stdout)


def test_the_program_of_a_plugin_whose_bridle_is_gone_says_so(tmp_path: Path) -> None:
    install.install(tmp_path, Origin("/nowhere/python", str(PACKAGE), "1"))
    done = subprocess.run(
        [str(tmp_path / PROGRAM), "--version"], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 127
    assert GONE in done.stderr


# Install, again, upgrade, uninstall


def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    first = install.install(tmp_path / "p", ORIGIN)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "p").rglob("*")}
    second = install.install(tmp_path / "p", ORIGIN)
    assert len(first.written) == len(tree(tmp_path / "p")) - 1  # all but the list
    assert second == install.Changes()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "p").rglob("*")} == before


def test_another_bridle_takes_the_plugin_over_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    install.install(folder, Origin("/old/python", "/old", "0.9"))
    state = folder / PLUGIN_STATE / "s1.md"
    state.parent.mkdir()
    state.write_text("a session")
    (folder / "commands/gone.md").write_text("of an older version")
    listed = json.loads((folder / LIST_FILE).read_text())
    listed["files"]["commands/gone.md"] = [digest(b"of an older version")]
    (folder / LIST_FILE).write_text(json.dumps(listed))
    changes = install.install(folder, ORIGIN)
    assert (changes.removed, changes.kept) == (("commands/gone.md",), ())
    assert {name: file.data for name, file in render(folder, ORIGIN).items()}.items() <= tree(folder).items()
    assert state.read_text() == "a session"
    plugin = install.read(folder)
    assert plugin is not None
    assert plugin.origin == ORIGIN


def test_an_upgrade_keeps_what_a_user_changed_beside_it(tmp_path: Path) -> None:
    install.install(tmp_path / "p", Origin("/old/python", "/old", "0.9"))
    skill = tmp_path / "p/skills/score/SKILL.md"
    skill.write_text("my own words")
    changes = install.install(tmp_path / "p", ORIGIN)
    assert changes.kept == ("skills/score/SKILL.md",)
    assert skill.with_name("SKILL.md.yours").read_text() == "my own words"
    assert skill.read_bytes() == render(tmp_path / "p", ORIGIN)["skills/score/SKILL.md"].data


def test_a_second_change_does_not_take_the_place_of_the_first_that_was_kept(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    skill = tmp_path / "p/skills/score/SKILL.md"
    for words in ("first", "second", "second", "third"):
        skill.write_text(words)
        install.install(tmp_path / "p", ORIGIN)
    kept = {path.name: path.read_text() for path in skill.parent.glob("*.yours*")}
    assert kept == {"SKILL.md.yours": "first", "SKILL.md.yours2": "second", "SKILL.md.yours3": "third"}


def test_an_install_that_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    """Killed at any moment of an upgrade: nothing of ours is taken for a folder, or a change, of somebody else's."""
    folder = tmp_path / "p"
    code = (
        "import sys, itertools; from pathlib import Path; from bridle.hosts.install.install import install\n"
        "from bridle.hosts.install.render_plugin import Origin\n"
        "for n in itertools.count():\n"
        "    install(Path(sys.argv[1]), Origin(f'/{n}/python', '/', str(n))); print(n, flush=True)"
    )
    for number in range(KILLS):
        words = [sys.executable, "-c", code, str(folder)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(number * KILL_STEP_SECONDS)  # not to wait for anything, but to be killed elsewhere each time
            child.kill()
    assert install.install(folder, ORIGIN).kept == ()
    assert {name: file.data for name, file in render(folder, ORIGIN).items()}.items() <= tree(folder).items()
    install.uninstall(folder)
    assert not folder.exists()


@pytest.mark.parametrize("what", ["a file in it", "a file in its place", "somebody's plugin"])
def test_a_folder_that_is_not_ours_is_refused_and_left_as_it_was(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "p"
    if what == "a file in its place":
        folder.write_text("mine")
    else:
        name = "notes.txt" if what == "a file in it" else ".claude-plugin/plugin.json"
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="is not a plugin of Bridle"):
        install.install(folder, ORIGIN)
    with pytest.raises((UsageError, DiskError)):
        install.uninstall(folder)
    assert tree(tmp_path) == before


def test_uninstalling_undoes_exactly_what_installing_did(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    folder = tmp_path / "deep/er/p"
    install.install(folder, ORIGIN)
    changes = install.uninstall(folder)
    assert changes.kept == ()
    assert [path.name for path in tmp_path.rglob("*")] == ["mine.txt"]


def test_uninstalling_leaves_folders_that_were_there_before(tmp_path: Path) -> None:
    (tmp_path / "was/there").mkdir(parents=True)
    install.install(tmp_path / "was/there/new/p", ORIGIN)
    install.uninstall(tmp_path / "was/there/new/p")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["was", "was/there"]


def test_uninstalling_leaves_sessions_and_what_a_user_added_or_changed(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    install.install(folder, ORIGIN)
    (folder / PLUGIN_STATE).mkdir()
    theirs = {
        f"{PLUGIN_STATE}/s1.md": "a session",
        "hooks/on-score/tell.sh": "a hook of mine",
        "skills/babysit/SKILL.md": "my own words",
    }
    for name, text in theirs.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    changes = install.uninstall(folder)
    assert changes.kept == ("skills/babysit/SKILL.md",)
    assert {name: data.decode() for name, data in tree(folder).items()} == theirs


def test_sessions_are_removed_on_request_and_found_again_when_not(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    install.install(folder, ORIGIN)
    session = folder / PLUGIN_STATE / "s1.md"
    session.parent.mkdir()
    session.write_text("a session")
    install.uninstall(folder)
    install.install(folder, ORIGIN)
    assert session.read_text() == "a session"
    install.uninstall(folder, with_state=True)
    assert not folder.exists()


def test_sessions_kept_elsewhere_lose_their_link_alone(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "s1.md").write_text("mine")
    (tmp_path / "p" / PLUGIN_STATE).symlink_to(tmp_path / "elsewhere")
    install.uninstall(tmp_path / "p", with_state=True)
    assert tree(tmp_path) == {"elsewhere/s1.md": b"mine"}
    assert not (tmp_path / "p").exists()


def test_a_list_that_names_files_elsewhere_removes_none_of_them(tmp_path: Path) -> None:
    folder, outside = tmp_path / "p", tmp_path / "outside"
    install.install(folder, ORIGIN)
    outside.write_text("precious")
    listed = json.loads((folder / LIST_FILE).read_text())
    for name in ("../outside", str(outside)):
        listed["files"][name] = [digest(b"precious")]
    (folder / LIST_FILE).write_text(json.dumps(listed))
    install.uninstall(folder)
    assert outside.read_text() == "precious"


def test_files_are_private_or_readable_as_they_need_to_be(tmp_path: Path) -> None:
    install.install(tmp_path / "p", ORIGIN)
    assert stat.S_IMODE((tmp_path / "p").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "p" / PROGRAM).stat().st_mode) == 0o755


# The command


def test_the_command_installs_says_how_to_enable_and_where(tmp_path: Path) -> None:
    folder = tmp_path / ODD
    done = bridle("plugin", "install", "--dir", str(folder), "--json", cwd=tmp_path)
    said = document(done)
    assert said["folder"] == str(folder)
    assert os.path.samefile(said["python"], sys.executable)
    commands = [step["command"] for step in said["enable"] if "command" in step]
    assert commands[0].startswith("claude --plugin-dir '")
    assert "claude plugin marketplace add" in commands[1]
    assert any("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP" in step["what"] for step in said["enable"])
    again = document(bridle("plugin", "install", "--dir", str(folder), "--json", cwd=tmp_path))
    assert (again["written"], again["removed"], again["kept"]) == ([], [], [])
    where = document(bridle("plugin", "path", "--json", cwd=tmp_path))
    assert [(one["folder"], one["works"]) for one in where["plugins"]] == [(str(folder), True)]
    assert bridle("plugin", "path", cwd=tmp_path).stdout == f"{folder}\n"


def test_installing_leaves_no_false_alarm_in_the_log_of_hooks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    document(bridle("plugin", "install", "--json", cwd=tmp_path, BRIDLE_HOME=str(home)))
    assert [path.name for path in home.iterdir()] == ["plugin"]
    assert not (home / "plugin" / PLUGIN_STATE).exists()


def test_the_command_for_people_names_the_folder_and_what_to_run(tmp_path: Path) -> None:
    done = bridle("plugin", "install", cwd=tmp_path)
    folder = locations.default_folder(None, tmp_path, os.environ)
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    assert f"claude --plugin-dir {folder}" in done.stdout
    removed = bridle("plugin", "uninstall", cwd=tmp_path)
    assert (removed.returncode, folder.exists()) == (0, False)
    assert bridle("plugin", "path", cwd=tmp_path).returncode == 1
    assert bridle("plugin", "uninstall", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("scope", [locations.USER, locations.PROJECT])
def test_a_scope_is_the_folder_that_claude_code_loads_and_no_settings_are_touched(tmp_path: Path, scope: str) -> None:
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"])
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=LIMIT_SECONDS)
    (tmp_path / "sub").mkdir()
    for mine in (settings / "settings.json", tmp_path / ".claude/settings.json"):
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text('{"mine": true}')
    done = bridle("plugin", "install", "--scope", scope, "--json", cwd=tmp_path / "sub")
    root = settings if scope == locations.USER else tmp_path / ".claude"
    assert document(done)["folder"] == str(root / "skills/bridle")
    shown = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert "skills" not in shown.stdout, "no commit takes the paths of this machine along"
    done = bridle("plugin", "uninstall", "--scope", scope, "--json", cwd=tmp_path / "sub")
    assert document(done)["kept"] == []
    assert tree(settings) == {"settings.json": b'{"mine": true}'}
    assert [path.name for path in (tmp_path / ".claude").iterdir()] == ["settings.json"]


def test_which_of_several_is_to_be_removed_must_be_given(tmp_path: Path) -> None:
    for words in ((), ("--scope", "user")):
        document(bridle("plugin", "install", *words, "--json", cwd=tmp_path))
    done = bridle("plugin", "uninstall", cwd=tmp_path)
    assert (done.returncode, "several plugins are installed" in done.stderr) == (2, True)
    assert len(document(bridle("plugin", "path", "--json", cwd=tmp_path))["plugins"]) == 2


def test_a_chosen_folder_is_forgotten_when_it_is_gone(tmp_path: Path) -> None:
    document(bridle("plugin", "install", "--dir", "p", "--json", cwd=tmp_path))
    home = Path(os.environ["BRIDLE_HOME"])
    assert locations.listed_folders(home) == [tmp_path / "p"]
    document(bridle("plugin", "uninstall", "--json", cwd=tmp_path))
    assert not (home / locations.LIST_FILE).exists()


def test_nothing_is_left_of_a_plugin_in_a_chosen_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    document(bridle("plugin", "install", "--dir", "p", "--json", cwd=tmp_path, BRIDLE_HOME=str(home)))
    document(bridle("plugin", "uninstall", "--json", cwd=tmp_path, BRIDLE_HOME=str(home)))
    assert sorted(tmp_path.rglob("*")) == [home]


def test_a_foreign_folder_ends_the_command_with_2(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    done = bridle("plugin", "install", "--dir", ".", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stderr)["error"]) == (2, "USAGE")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
