"""`bridle completion`, in the shells themselves."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from bridle.cli import command_table
from bridle.cli.completion.completion_scripts import PROGRAMS
from bridle.ground import disk
from bridle.ground.light.shell_word import shell_word
from tests.fixtures.bridle_program import LIMIT_SECONDS, read_until, run_bridle

# What is typed, and what is offered.
CASES = [
    ("bridle rec", ["receipt"]),
    ("bridle run --sandb", ["--sandbox"]),
    ("bridle run --sandbox b", ["bwrap"]),
    ("bridle completion f", ["fish"]),
    ("bridle run --agent bridle-a", ["bridle-agent"]),
    ("bridle plan --agent cl", ["claude"]),
    ("bridle plugin unin", ["uninstall"]),
    ("bridle help plan-f", ["plan-format"]),
    ("bridle help conf", ["config"]),
    ("bridle-cli rec", ["receipt"]),
]


TITLE = 'Say "hi" \\ bye'
# In a folder below a repository with a run.
LISTED = [
    ("bridle resume 01", [RUN := "01M7R43FBE054N1GW9A778G56M"]),
    ("bridle status la", ["last"]),
    ("bridle undo 01", [RUN]),
    ("bridle export la", ["last"]),
    ("bridle retry Tok", ["Token bucket"]),
    ("bridle retry Say", [TITLE]),
    ("bridle answer Tok", ["Token bucket"]),
    ("bridle hint x 01", [RUN]),
    ("bridle run --model o", ["opus"]),
]


@pytest.fixture
def below(tmp_path: Path) -> Path:
    run = tmp_path / "shop/.a5c/runs" / RUN
    run.mkdir(parents=True)
    tasks = [{"title": "Token bucket", "checks": []}, {"title": TITLE, "checks": []}]
    disk.write_json_atomic(run / "inputs.json", {"run": RUN, "plan": {"title": "Tokens", "text": "", "tasks": tasks}})
    folder = tmp_path / "shop/src/deep"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(("typed", "offered"), LISTED)
def test_bash_lists_runs_and_tasks(scripts: Path, below: Path, typed: str, offered: list[str]) -> None:
    assert bash(scripts / "bash", typed, below) == list(map(quoted, offered))


def quoted(word: str) -> str:
    """Return a word as bash's `printf %q` prints it."""
    done = subprocess.run(["bash", "-c", 'printf %q "$1"', "bash", word], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(("typed", "offered"), LISTED)
def test_fish_lists_runs_and_tasks(scripts: Path, below: Path, typed: str, offered: list[str]) -> None:
    code = f"source {scripts / 'fish'}; complete -C {shell_word(typed)}"
    words = ["fish", "--no-config", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True, cwd=below)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered


def test_bash_lists_nothing_without_a_run(scripts: Path, tmp_path: Path) -> None:
    assert bash(scripts / "bash", "bridle resume 01", tmp_path) == []


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = run_bridle("completion", shell)
        assert done.returncode == 0
        (folder / shell).write_text(done.stdout)
    return folder


def bash(script: Path, typed: str, folder: Path | None = None) -> list[str]:
    words = typed.split(" ")
    code = (
        f'source {script}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; '
        '_bridle; printf "%s\\n" "${COMPREPLY[@]}"; complete -p "$1"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-euc", code, "bash", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
        cwd=folder,
    )
    *offered, registered = done.stdout.splitlines()
    assert "-F _bridle" in registered
    return [word for word in offered if word]


@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_bash_offers(scripts: Path, typed: str, offered: list[str]) -> None:
    assert bash(scripts / "bash", typed) == offered


def test_bash_offers_all_commands_that_are_built_and_none_for_agents(scripts: Path) -> None:
    built = [command.name for command in command_table.USER_COMMANDS if command.module is not None]
    assert bash(scripts / "bash", "bridle ") == built


def test_bash_leaves_files_to_the_shell(scripts: Path) -> None:
    assert bash(scripts / "bash", "bridle inspect lo") == []
    assert bash(scripts / "bash", "bridle stage --record x") == []


@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_fish_offers(scripts: Path, typed: str, offered: list[str]) -> None:
    code = f"source {scripts / 'fish'}; complete -C '{typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered


@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_zsh_completes_on_a_terminal(scripts: Path, tmp_path: Path, typed: str, offered: list[str]) -> None:
    complete_in_zsh(scripts, tmp_path, typed, f"{typed.rpartition(' ')[0]} {offered[0]}")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("bridle resume 01", f"bridle resume {RUN}"), ("bridle retry Tok", "bridle retry Token\\ bucket")],
)
def test_zsh_lists_runs_and_tasks(scripts: Path, below: Path, typed: str, shown: str) -> None:
    complete_in_zsh(scripts, below, typed, shown)


def complete_in_zsh(scripts: Path, folder: Path, typed: str, shown: str) -> None:
    process, terminal = pty.fork()
    if process == 0:  # the shell, on a terminal of its own
        os.chdir(folder)
        os.environ.update(HOME=str(folder), TERM="dumb", PS1="ready> ")
        os.execvp("zsh", ["zsh", "-f", "-i"])  # noqa: S606  # no shell between
    try:
        os.write(
            terminal,
            f"autoload -Uz compinit && compinit -u -D; source {scripts / 'zsh'}; PS1=; print lo''aded\n".encode(),
        )
        read_until(terminal, "loaded")
        os.write(terminal, f"{typed}\t".encode())
        read_until(terminal, shown)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def test_the_script_as_a_document() -> None:
    document = json.loads(run_bridle("completion", "fish", "--json").stdout)
    assert document["shell"] == "fish"
    assert all(f"complete -c {program} " in document["script"] for program in PROGRAMS)


def test_another_shell_is_refused() -> None:
    done = run_bridle("completion", "tcsh")
    assert done.returncode == 2
    assert "bash" in done.stderr
