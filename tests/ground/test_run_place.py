"""A run that is reached through a link belongs to the repository that has the link."""

from __future__ import annotations

from pathlib import Path

from bridle.ground.run_place import process_files, repository_by_name


def linked_runs(top: Path) -> Path:
    """Return a run in a repository whose `.a5c/runs` leads to another folder."""
    (top / "repository/.a5c").mkdir(parents=True)
    (top / "elsewhere/deep/runs/r1").mkdir(parents=True)
    (top / "repository/.a5c/runs").symlink_to("../../elsewhere/deep/runs")
    return top / "repository/.a5c/runs/r1"


def test_the_process_counts_from_the_name_of_the_folder_and_from_where_it_leads(tmp_path: Path) -> None:
    run = linked_runs(tmp_path)
    assert process_files(run, "../../../process.py") == (
        tmp_path / "repository/process.py",
        tmp_path / "elsewhere/process.py",
    )


def test_without_a_link_both_are_one_file(tmp_path: Path) -> None:
    assert len({*process_files(tmp_path / ".a5c/runs/r1", "../../../process.py")}) == 1


def test_a_run_in_linked_runs_belongs_to_the_repository_with_the_link(tmp_path: Path) -> None:
    assert repository_by_name(linked_runs(tmp_path)) == tmp_path / "repository"


def test_a_run_elsewhere_says_nothing_about_its_repository(tmp_path: Path) -> None:
    assert repository_by_name(tmp_path / "runs/r1") is None
