"""Whether runs can be created in a folder: the one check of `doctor` and `health`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.cli.machine_interface.run_argument import check_runs_folder
from bridle.errors import DiskError
from tests.fixtures.bridle_program import run_bridle


@pytest.mark.parametrize("name", [".", "runs", "not/there/yet"])
def test_a_folder_that_is_there_or_can_be_made_is_fine_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    check_runs_folder(tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"]


@pytest.mark.parametrize("name", ["file", "file/runs", "link"])
def test_what_is_no_folder_is_refused_with_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DiskError, match=f"{tmp_path / name.partition('/')[0]} is not a writable folder") as caught:
        check_runs_folder(tmp_path / name)
    assert "--runs-dir" in str(caught.value.remedy)


@pytest.mark.parametrize("command", ["health", "doctor"])
def test_both_commands_say_the_same(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run_bridle(command, "--runs-dir", tmp_path / "file", "--json", cwd=tmp_path)
    assert (done.returncode, f"{tmp_path / 'file'} is not a writable folder" in done.stdout) == (1, True)
