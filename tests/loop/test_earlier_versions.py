"""Runs of the loop that earlier versions made: each is audited, replayed and resumed by this one.

The samples name their process by a path into an installation that does not exist here, as every run did before runs
named it by id.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bridle.ground import own_runs
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.current_state import read_cached_receipt, read_receipt
from bridle.loop.run_inputs import read_inputs, read_place
from tests.loop.fixtures.fake_agent import Project, make_project

JOURNALS = Path(__file__).parents[1] / "journals"
SAMPLES = sorted(path.relative_to(JOURNALS) for path in JOURNALS.glob("bridle-*/*.tar.gz"))
# A run holds the absolute path of its repository, and digests of the files that hold it.
PLACE = Path("/tmp")

# One worker unpacks and uses them: each has one place.
pytestmark = pytest.mark.xdist_group("earlier versions")

AGENT = """
import pathlib
pathlib.Path("one.txt" if task == "First" else "two.txt").write_text("one" if task == "First" else "two")
"""


@contextmanager
def unpacked(sample: Path, folder: Path) -> Iterator[Project]:
    """Put the repository of a sample where it was made, with an agent that solves its tasks."""
    version, name = sample.parent.name.removeprefix("bridle-"), sample.name.removesuffix(".tar.gz")
    top = PLACE / f"bridle-runs-{version}"
    with PLACE.joinpath(f"{top.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other checkouts may run these tests too
        yield from _unpacked_alone(sample, top, name, folder)


def _unpacked_alone(sample: Path, top: Path, name: str, folder: Path) -> Iterator[Project]:
    shutil.rmtree(top, ignore_errors=True)
    try:
        with tarfile.open(JOURNALS / sample) as archive:
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # Python before 3.11.4 has none
            archive.extractall(top / name)  # noqa: S202 -- our own samples
        for run in top.glob("*/repository/.a5c/runs/*"):
            own_runs.record(run, Path(os.environ["BRIDLE_HOME"]))  # else it is another user's
        yield replace(make_project(folder, "# Nothing\n", AGENT), folder=top / name / "repository")
    finally:
        shutil.rmtree(top, ignore_errors=True)


def receipt(run: Project, *arguments: str) -> dict[str, object]:
    """Run a command that prints the receipt."""
    done = run.bridle(*arguments, "--json")
    assert done.stdout, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def assert_agrees(run: Project) -> None:
    """The journal is whole, and the process decides again as it did."""
    for command in ("audit", "replay"):
        done = run.bridle(command, "last", "--json")
        assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_a_sample_of_each_state() -> None:
    states = {sample.name.removesuffix(".tar.gz") for sample in SAMPLES}
    assert states == {"completed", "failed", "interrupted", "limit", "parallel", "question"}


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_run_of_an_earlier_version_is_audited_and_replayed(sample: Path, tmp_path: Path) -> None:
    with unpacked(sample, tmp_path) as run:
        metadata = json.loads(next(run.folder.glob(".a5c/runs/*/run.json")).read_text())
        assert metadata["entrypoint"]["importPath"].endswith("/bridle/loop/ralph.py")
        assert_agrees(run)
        folder = next(run.folder.glob(".a5c/runs/*"))
        shown = read_cached_receipt(folder, os.environ)
        assert repr(shown) == repr(read_receipt(folder))
        assert repr(shown) == repr(read_cached_receipt(folder, os.environ))
        inputs, place = read_inputs(FileStore(folder)), read_place(FileStore(folder))
        for name in ("repository", "base", "came_from", "worktrees", "recorded_repository", "workspaces"):
            assert getattr(place, name) == getattr(inputs, name)
        assert repr(place.limits) == repr(inputs.settings.limits)


RESUMED = {
    "interrupted": ("resume",),
    "limit": ("resume", "--max-iterations", "10"),
    "failed": ("retry", "First", "--resume"),
    "question": ("answer", "EFFECT", "The first one.", "--resume"),
}


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.name.split(".")[0] in RESUMED], ids=str)
def test_a_run_of_an_earlier_version_is_resumed_to_its_end(sample: Path, tmp_path: Path) -> None:
    with unpacked(sample, tmp_path) as run:
        before = receipt(run, "status")
        tasks = before["tasks"]
        assert isinstance(tasks, list)
        effects = [str(task["effect"]) for task in tasks if "effect" in task]
        arguments = (effects[0] if word == "EFFECT" else word for word in RESUMED[sample.name.split(".")[0]])
        done = run.bridle(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        after = receipt(run, "status")
        assert after["verdict"] == "done"
        assert after["run"] == before["run"]
        assert_agrees(run)
        assert run.git("show", f"{after['branch']}:two.txt") == "two"


def test_a_completed_run_of_an_earlier_version_is_not_done_again(tmp_path: Path) -> None:
    sample = next(sample for sample in SAMPLES if sample.name.startswith("completed"))
    with unpacked(sample, tmp_path) as run:
        assert receipt(run, "resume")["verdict"] == "done"
        assert run.calls() == []


def test_a_new_run_names_the_process_by_its_id(tmp_path: Path) -> None:
    run = make_project(tmp_path, "# Small\n\n## First\nWrite one.\nCheck: `grep -q one one.txt`\n", AGENT)
    assert run.bridle("run", "PLAN.md").returncode == 0
    metadata = json.loads(next(run.folder.glob(".a5c/runs/*/run.json")).read_text())
    assert metadata["entrypoint"] == {"importPath": "bridle/loop", "exportName": "process"}
    assert_agrees(run)
