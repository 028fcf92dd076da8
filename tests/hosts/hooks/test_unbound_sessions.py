"""A stop of a session that no run holds is approved by the shell; wherever that is not certain, Python decides."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bridle.ground.light.quick_path import Path as QuickPath
from bridle.hosts.install import install
from bridle.hosts.install.render_plugin import PACKAGE, Origin, hook_command
from bridle.hosts.sessions import session_file

LIMIT_SECONDS = 60
SESSION = "5c0f4c6e-0000-4000-8000-000000000001"
ODD = 'it\'s $HOME; a "plugin" & `more`'

# Stands for the interpreter of an installation, and leaves a trace that it was started.
PYTHON = """#!/bin/sh
: >"{trace}"
exec "{python}" "$@"
"""


@dataclass
class Scene:
    """A plugin, a project and a home folder, and how the host starts the Stop hook there."""

    folder: Path
    cwd: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.cwd = self.project / "src"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_CODE_SESSION_ID": SESSION,
        }
        self.cwd.mkdir(parents=True)
        self.folder.chmod(0o755)
        program = self.folder / "python"
        program.write_text(PYTHON.format(trace=self.folder / "trace", python=sys.executable))
        program.chmod(0o755)
        self.origin = Origin(str(program), str(PACKAGE), "1")
        install.install(self.plugin, self.origin)

    @property
    def plugin(self) -> Path:
        return self.folder / ODD

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def session(self, folder: Path, run: str = "", name: str = SESSION) -> Path:
        """Write the file of a session."""
        path = folder / f"{name}.md"
        session = session_file.new_session("2026-03-02T10:00:00Z", run_id=run)
        session_file.write(session_file.new_file(QuickPath(path), session, 'words\nrun_id: "not a field"\n'))
        return path

    def bind(self, folder: Path, name: str = SESSION) -> Path:
        """Bind a session to a run, with another BRIDLE_HOME than that of the host."""
        session_file.mark_as_bound(QuickPath(folder / f"{name}.md"))
        return self.session(folder, "a-run", name)

    def starts_python(self, shell: str = "/bin/sh") -> bool:
        """Run the hook, whose answer is that the session may stop; return whether Python was started for it."""
        done = subprocess.run(
            [shell, "-c", hook_command(self.plugin, self.origin, "Stop")],
            input=f'{{"session_id": "{SESSION}", "cwd": "{self.cwd}"}}',
            cwd=self.cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "{}\n")
        return (self.folder / "trace").exists()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize("shell", ["/bin/sh", "bash"])
def test_a_session_that_no_run_holds_starts_no_interpreter(scene: Scene, shell: str) -> None:
    assert not scene.starts_python(shell)
    scene.session(scene.plugin / session_file.PLUGIN_STATE)
    scene.session(scene.project / session_file.PROJECT_STATE)
    scene.session(scene.project / session_file.PROJECT_STATE, "a-run", name="another-session")
    assert not scene.starts_python(shell)


def test_the_real_start_hook_leaves_a_session_that_starts_no_interpreter(scene: Scene) -> None:
    subprocess.run(
        ["/bin/sh", "-c", hook_command(scene.plugin, scene.origin, "SessionStart")],
        input=f'{{"session_id": "{SESSION}"}}',
        cwd=scene.cwd,
        env=scene.environment,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert (scene.plugin / session_file.PLUGIN_STATE / f"{SESSION}.md").is_file()
    (scene.folder / "trace").unlink()
    assert not scene.starts_python()


def _bound_in(place: Callable[[Scene], Path]) -> Callable[[Scene], object]:
    return lambda scene: scene.session(place(scene), "a-run")


def _explicit(scene: Scene) -> None:
    scene.environment["BABYSITTER_STATE_DIR"] = str(scene.folder / "states")
    scene.session(scene.folder / "states", "a-run")


def _record(scene: Scene) -> None:
    folder = scene.folder / "home/.bridle/sessions"
    folder.mkdir(parents=True)
    (folder / "another-session").write_bytes(b"/a\0/b\0")


def _record_in_chosen_home(scene: Scene) -> None:
    scene.environment["BRIDLE_HOME"] = str(scene.folder / "chosen")
    (scene.folder / "chosen/sessions").mkdir(parents=True)
    (scene.folder / "chosen/sessions" / SESSION).write_bytes(b"/a\0/b\0")


def _variable_of_another_session(place: Callable[[Scene], Path]) -> Callable[[Scene], object]:
    """The session was bound with another BRIDLE_HOME, and the variable is inherited."""

    def prepare(scene: Scene) -> None:
        scene.environment["CLAUDE_CODE_SESSION_ID"] = "inherited"
        scene.session(place(scene), name="inherited")
        scene.bind(place(scene))

    return prepare


def _damaged(scene: Scene) -> None:
    scene.session(scene.plugin / session_file.PLUGIN_STATE).write_text("active: true\n")


def _cut_off(scene: Scene) -> None:
    scene.session(scene.plugin / session_file.PLUGIN_STATE).write_text("---\nactive: true\nrun_id")


def _named_twice(scene: Scene) -> None:
    path = scene.session(scene.plugin / session_file.PLUGIN_STATE)
    path.write_text(path.read_text().replace('run_id: ""', 'run_id: ""\nrun_id: "a-run"'))


def _linked(scene: Scene) -> None:
    path = scene.session(scene.plugin / session_file.PLUGIN_STATE)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


UNCERTAIN: dict[str, Callable[[Scene], object]] = {
    "bound in the plugin": _bound_in(lambda scene: scene.plugin / session_file.PLUGIN_STATE),
    "bound in the project": _bound_in(lambda scene: scene.project / session_file.PROJECT_STATE),
    "bound in the present folder": _bound_in(lambda scene: scene.cwd / session_file.PROJECT_STATE),
    "bound above the project": _bound_in(lambda scene: scene.folder / session_file.PROJECT_STATE),
    "bound in the folder of the variable": _explicit,
    "any session has a record": _record,
    "a record in BRIDLE_HOME": _record_in_chosen_home,
    "bound in the plugin, and the variable is of another session": _variable_of_another_session(
        lambda scene: scene.plugin / session_file.PLUGIN_STATE
    ),
    "bound in the project, and the variable is of another session": _variable_of_another_session(
        lambda scene: scene.project / session_file.PROJECT_STATE
    ),
    "a damaged file": _damaged,
    "a file that was cut off": _cut_off,
    "a run after none": _named_twice,
    "a link": _linked,
    "no id": lambda scene: scene.environment.pop("CLAUDE_CODE_SESSION_ID"),
    "an empty id": lambda scene: scene.environment.update(CLAUDE_CODE_SESSION_ID=""),
    "an id that is a path": lambda scene: scene.environment.update(CLAUDE_CODE_SESSION_ID="../x"),
    "no home folder": lambda scene: scene.environment.pop("HOME"),
}


@pytest.mark.parametrize("uncertain", UNCERTAIN)
def test_a_session_that_may_be_bound_is_decided_by_the_hook(scene: Scene, uncertain: str) -> None:
    UNCERTAIN[uncertain](scene)
    assert scene.starts_python()


def test_a_bound_session_that_is_deleted_leaves_no_mark(scene: Scene) -> None:
    path = scene.bind(scene.plugin / session_file.PLUGIN_STATE, "another-session")
    assert session_file.delete(QuickPath(path))
    assert not scene.starts_python()


def test_a_plugin_without_the_file_decides_by_the_hook(scene: Scene) -> None:
    (scene.plugin / "hooks/unbound.sh").unlink()
    assert scene.starts_python()
