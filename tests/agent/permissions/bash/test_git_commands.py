"""Whether git would read its settings from a folder of the checkout: the answer of git itself is the measure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.agent.permissions.bash.git_commands import is_bare_repository

HEAD = "ref: refs/heads/main\n"
MARKER = "from this folder"


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
