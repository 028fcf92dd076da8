"""What a git command runs besides git is found, and folders whose settings git would read are known."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.agent.permissions.bash.git_commands import (
    git_carried,
    git_command,
    git_folders,
    is_bare_repository,
    runs_more,
)
from bridle.agent.permissions.bash.words import Word, plain

HEAD = "ref: refs/heads/main\n"
MARKER = "from this folder"
UNKNOWN = Word("$X", None)


def bare(folder: Path) -> None:
    """Make the folder a bare repository with a setting that a test can find."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text(HEAD)
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tbare = true\n[test]\n\tof = {MARKER}\n")


def empty_folder(own: Path) -> None:
    own.mkdir()


def without_head(own: Path) -> None:
    (own / "objects").mkdir(parents=True)
    (own / "refs").mkdir()


def with_a_head_that_names_nothing(own: Path) -> None:
    without_head(own)
    (own / "HEAD").write_text("main\n")


def without_objects(own: Path) -> None:
    (own / "refs").mkdir(parents=True)
    (own / "HEAD").write_text(HEAD)


def dangling_link(own: Path) -> None:
    own.symlink_to(own.parent / "nowhere")


def nothing(_own: Path) -> None:
    """Leave the folder without a `.git`."""


def settings_are_read(folder: Path) -> bool:
    """Ask git whether it reads the settings of that folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "config", "test.of"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == MARKER


@pytest.mark.parametrize(
    "make_own",
    [nothing, empty_folder, without_head, with_a_head_that_names_nothing, without_objects, dangling_link],
)
def test_an_incomplete_git_folder_does_not_hide_a_bare_repository(
    tmp_path: Path, make_own: Callable[[Path], None]
) -> None:
    bare(tmp_path / "kit")
    make_own(tmp_path / "kit" / ".git")
    assert settings_are_read(tmp_path / "kit")
    assert is_bare_repository(str(tmp_path / "kit"))
    (tmp_path / "kit" / "refs" / "below").mkdir()
    assert is_bare_repository(str(tmp_path / "kit" / "refs" / "below"))


def test_a_repository_of_its_own_does(tmp_path: Path) -> None:
    bare(tmp_path / "kit")
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "kit")], check=True, capture_output=True)
    assert not settings_are_read(tmp_path / "kit")
    assert not is_bare_repository(str(tmp_path / "kit"))


def test_a_bare_repository_may_have_its_objects_elsewhere(tmp_path: Path) -> None:
    bare(tmp_path / "elsewhere")
    kit = tmp_path / "kit"
    kit.mkdir()
    (kit / "HEAD").write_text(HEAD)
    (kit / "commondir").write_text("../elsewhere\n")
    assert settings_are_read(kit)
    assert is_bare_repository(str(kit))


def test_an_ordinary_folder_is_none(tmp_path: Path) -> None:
    assert not is_bare_repository(str(tmp_path))


def git(*values: str | Word) -> tuple[Word, ...]:
    return (plain("git"), *(value if isinstance(value, Word) else plain(value) for value in values))


@pytest.mark.parametrize(
    ("values", "without", "folders"),
    [
        (["log"], ["log"], []),
        (["-C", "a", "--no-pager", "-C", "b", "log", "-C"], ["log", "-C"], ["a", "b"]),
        (["-c", "user.name=-C", "log", "-p"], ["log", "-p"], []),
        (["--git-dir", "x", "status"], ["status"], []),
        (["--git-dir=x", "status"], ["status"], []),
        (["-C"], [], []),
        ([], [], []),
    ],
)
def test_global_options_are_left_out_and_their_folders_known(
    values: list[str], without: list[str], folders: list[str]
) -> None:
    assert [word.value for word in git_command(git(*values))] == ["git", *without]
    assert git_folders(git(*values)) == folders


@pytest.mark.parametrize(
    "command",
    [
        "-c core.pager=evil log",
        "-ccore.pager=evil log",
        "-c alias.x=!evil x",
        "-c",
        "--exec-path=. log",
        "--config-env=core.pager=X log",
        "--work-tree . log",
        "rebase --exec evil HEAD",
        "rebase -x evil HEAD",
        "rebase -ix evil HEAD",
        "rebase --exe=evil HEAD",
        "grep -Oevil x",
        "grep -nOevil x",
        "grep --open-files-in-pager=evil x",
        "fetch --upload-pack evil origin",
        "push --receive-pack=evil origin",
        "clone -u evil url",
        "clone -qu evil url",
        "clone -c core.sshCommand=evil url",
        "clone -ccore.sshCommand=evil url",
        "clone -qc core.sshCommand=evil url",
        "clone --config core.sshCommand=evil url",
        "clone --conf=core.sshCommand=evil url",
        "clone --template=evil url",
        "init --template evil",
        "init --templ evil",
        "diff --ext-diff",
        "bisect run evil",
        "submodule --quiet foreach evil",
        "difftool",
        "filter-branch",
        "config alias.x !evil",
        "config --global core.hooksPath evil",
        "config filter.x.clean evil",
    ],
)
def test_a_command_that_runs_a_program_is_noticed(command: str) -> None:
    assert runs_more(git(*command.split()))


@pytest.mark.parametrize(
    "command",
    [
        "",
        "log -p --oneline",
        "-c user.name=x commit -m x",
        "-c color.ui=false diff",
        "commit --template=message.txt",
        "rebase -i HEAD",
        "grep -n x",
        "grep -e Open x",
        "clone --quiet url",
        "clone -q --depth 1 url",
        "init -q",
        "fetch -u origin",
        "config user.name x",
        "submodule update",
        "bisect start",
    ],
)
def test_other_commands_run_nothing_else(command: str) -> None:
    assert not runs_more(git(*command.split()))


def test_a_word_that_is_not_known_may_be_a_setting() -> None:
    assert runs_more(git(UNKNOWN, "log"))
    assert runs_more(git("-C", ".", UNKNOWN)) is False  # behind the global options it is the subcommand


@pytest.mark.parametrize(
    ("command", "carried"),
    [
        ("-c alias.x=!evil x", ["evil"]),
        ("rebase --exec=evil HEAD", ["evil"]),
        ("rebase -x evil HEAD", ["evil"]),
        ("rebase -xevil HEAD", ["evil"]),
        ("rebase -ix evil HEAD", ["evil"]),
        ("clone -c core.sshCommand=evil url", ["evil"]),
        ("submodule foreach evil now", ["evil now"]),
        ("config alias.x !evil", ["evil"]),
        ("difftool", [""]),
        ("log", []),
    ],
)
def test_the_code_that_it_runs_is_known_for_rules_that_deny_it(command: str, carried: list[str]) -> None:
    texts = [text for text in git_carried(git(*command.split())) if isinstance(text, str)]
    assert [text for text in texts if text in carried] == carried
