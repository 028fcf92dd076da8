from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.errors import ProcessError
from bridle.ground.children import child_process
from bridle.ground.children.child_process import Child, Spawn, StopTimeouts
from bridle.ground.children.spawn import Sandbox
from bridle.ground.descendants import census
from bridle.ground.ids import new_token
from bridle.run.isolation import bubblewrap, program_view
from bridle.run.isolation.description import Isolation, describe
from bridle.run.isolation.sandbox_rules import SandboxRules
from bridle.run.isolation.sandbox_session import open_sandbox
from tests.fixtures.child_output import read_lines
from tests.run.fixtures.in_sandbox import HANG_SECONDS, program, run


def isolation_of(folder: Path) -> Isolation:
    """Describe the isolation of a folder whose home is beside it."""
    (folder / "work").mkdir()
    (folder / "home").mkdir()
    return describe(folder / "work", {"HOME": str(folder / "home")})


def with_child(isolation: Isolation, script: str, story: Callable[[Child, Sandbox], Awaitable[None]]) -> None:
    """Start a shell command in the sandbox and play a story with it."""

    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            with open_sandbox(program(), isolation, cwd=isolation.work) as sandbox:
                environment = {"PATH": os.environ["PATH"]}
                argv = ("/bin/sh", "-c", script)
                child = await child_process.start(
                    Spawn(argv, isolation.work, environment, new_token(), sandbox=sandbox)
                )
                try:
                    await story(child, sandbox)
                finally:
                    await child.close()

    asyncio.run(main())


def test_it_works_on_this_machine() -> None:
    assert bubblewrap.probe(program()).failure is None
    assert bubblewrap.probe(program(), has_network=False).failure is None


def test_a_machine_where_it_cannot_work_says_why(tmp_path: Path) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    found = bubblewrap.find_programs({"PATH": str(tmp_path)}, tmp_path / "r")
    assert found[0] == str(refusing)  # the system's comes first
    assert bubblewrap.probe(str(refusing)).failure == "bwrap: No permissions to create new namespace"
    assert bubblewrap.probe(None).failure == "bwrap was not found"


@pytest.mark.parametrize(("end", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_code_is_that_of_the_program(tmp_path: Path, end: str, code: int) -> None:
    assert run(isolation_of(tmp_path), end).exit_code == code


def test_a_sandbox_that_cannot_be_set_up_is_not_a_failed_program(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="the sandbox could not be set up: bwrap: "):
        run(isolation_of(tmp_path), "exit 1", cwd=tmp_path / "missing")


def test_a_signal_reaches_the_program_itself(tmp_path: Path) -> None:
    async def story(child: Child, _sandbox: Sandbox) -> None:
        output = await read_lines(child)
        await child.stop(timeouts=StopTimeouts(interrupt_seconds=HANG_SECONDS))
        while (part := await child.read()) is not None:
            output += part
        assert output == b"ready\npolite\n"
        assert child.exit_code == 3

    with_child(
        isolation_of(tmp_path), "trap 'echo polite; exit 3' INT; echo ready; while :; do sleep 0.05; done", story
    )


def test_its_options_are_in_no_list_of_processes(tmp_path: Path) -> None:
    isolation = isolation_of(tmp_path)

    async def story(child: Child, _sandbox: Sandbox) -> None:
        await read_lines(child)
        command = Path(f"/proc/{child.pid}/cmdline").read_bytes()
        assert b"--args" in command
        assert os.fsencode(isolation.home) not in command

    with_child(isolation, "echo ready; sleep 600", story)


def test_everything_in_it_has_ended_when_it_is_closed(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    isolation = replace(isolation_of(tmp_path), writable=(tmp_path / "host",))
    note = tmp_path / "host" / "note"
    daemon = f"setsid env -i sh -c 'while :; do echo x >> {note}; done' > /dev/null 2>&1"
    script = f"({daemon} &); while [ ! -e {note} ]; do :; done"
    assert run(isolation, script).exit_code == 0
    size = note.stat().st_size
    assert not [entry for entry in census.take().values() if entry.name == "bwrap" and _is_of(entry.pid, tmp_path)]
    assert note.stat().st_size == size


def _is_of(pid: int, folder: Path) -> bool:
    try:
        return str(folder) in Path(f"/proc/{pid}/mountinfo").read_text()
    except OSError:
        return False


def test_without_network_no_server_of_the_host_is_reached(tmp_path: Path) -> None:
    isolation = isolation_of(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 10)"
        script = f'python3 -c "{code}"'
        assert run(isolation, script).exit_code == 0
        assert run(replace(isolation, has_network=False), script).exit_code != 0


def test_what_is_written_to_tmp_stays_in_it(tmp_path: Path) -> None:
    name = f"/tmp/{new_token()}"  # inside it is private
    assert run(isolation_of(tmp_path), f"echo x > {name} && cat {name}").stdout == b"x\n"
    assert not Path(name).exists()


def test_a_killed_program_leaves_nothing(tmp_path: Path) -> None:
    async def story(child: Child, _sandbox: Sandbox) -> None:
        await read_lines(child)
        os.kill(child.pid, signal.SIGKILL)  # bwrap itself
        assert await child.wait(HANG_SECONDS) == -signal.SIGKILL

    with_child(isolation_of(tmp_path), "trap '' INT TERM; echo ready; sleep 600 & wait", story)


def test_what_is_hidden_stays_hidden_in_a_working_copy_that_contains_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "key").write_text("secret")
    isolation = describe(home, {"HOME": str(home), "BRIDLE_HOME": str(home / ".bridle")})
    assert run(isolation, "touch made; cat .ssh/key; ls -a .ssh").stdout == b""
    assert (home / "made").exists()


def test_a_folder_below_a_hidden_one_can_be_worked_in(tmp_path: Path) -> None:
    (tmp_path / "hidden" / "work").mkdir(parents=True)
    (tmp_path / "hidden" / "secret").write_text("secret")
    rules = SandboxRules(hidden=(str(tmp_path / "hidden"),))
    isolation = describe(tmp_path / "hidden" / "work", {"HOME": str(tmp_path)}, rules=rules)
    assert run(isolation, "touch made && ls ..").stdout == b"work\n"
    assert (tmp_path / "hidden" / "work" / "made").exists()


def test_an_agent_that_is_installed_in_a_hidden_folder_starts(tmp_path: Path) -> None:
    isolation = isolation_of(tmp_path)
    program = tmp_path / "bin" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho works\n")
    program.chmod(0o755)
    environment = {"HOME": str(tmp_path / "home")}
    assert run(isolation, str(program)).exit_code == 127
    visible = describe(isolation.work, environment, program=str(program))
    assert run(visible, str(program)).stdout == b"works\n"
    on_path = describe(isolation.work, {**environment, "PATH": str(program.parent)})
    assert run(on_path, str(program)).stdout == b"works\n"


def test_bridle_that_is_installed_from_a_checkout_in_a_hidden_folder_is_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bridle-agent` imports it."""
    package = tmp_path / "checkout" / "src" / "bridle"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("VALUE = 1\n")
    isolation = isolation_of(tmp_path)
    assert run(isolation, f"cat {package}/__init__.py").exit_code == 1
    monkeypatch.setattr(program_view, "PACKAGES", str(package.parent))
    visible = describe(isolation.work, {"HOME": str(tmp_path / "home")})
    assert run(visible, f"cat {package}/__init__.py").stdout == b"VALUE = 1\n"
    assert run(visible, f"touch {package}/made").exit_code == 1


def test_opencode_can_write_beside_its_settings_and_nothing_stays(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    settings = home / ".config" / "opencode"
    (settings / "command").mkdir(parents=True)
    (settings / "opencode.json").write_text("mine")
    (settings / "linked.json").symlink_to("opencode.json")
    work.mkdir()
    isolation = describe(work, {"HOME": str(home)}, agent="opencode")
    script = "cat opencode.json linked.json; echo x > .gitignore && ls -A; echo x > opencode.json; echo x > command/new"
    captured = run(isolation, f"cd {settings}; {script}")
    assert captured.stdout.decode().split() == ["minemine.gitignore", "command", "linked.json", "opencode.json"]
    assert sorted(os.listdir(settings)) == ["command", "linked.json", "opencode.json"]
    assert (settings / "opencode.json").read_text() == "mine"
    assert os.listdir(settings / "command") == []


def test_the_user_can_show_more_of_the_home_and_programs_on_the_path_have_their_libraries(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    for name in (".tool/data", ".node/bin/cli", ".node/lib/module", ".node/key", ".other/data"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    environment = {"HOME": str(home), "PATH": f"{home}/.node/bin:{os.environ['PATH']}"}
    isolation = describe(work, environment, rules=SandboxRules(visible=("~/.tool",)))
    script = f"cd {home}; echo x > .other/new; find . -type f | sort; echo x > .tool/new"
    captured = run(isolation, script)
    assert captured.stdout.decode().split() == ["./.node/bin/cli", "./.node/lib/module", "./.other/new", "./.tool/data"]
    assert captured.exit_code != 0
    assert not (home / ".other/new").exists()
