"""Both performers may be killed at any moment: performed again, they come to the same end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.repositories import RUN, Repository, make_repository
from tests.sizes import SIZES

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 1200.0


def killed(here: Repository, kind: str, args: dict[str, Any], points: int) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.loop.fixtures.kill_points",
            str(here.folder),
            kind,
            json.dumps(args),
            str(points),
        ],
        cwd=ROOT,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    files = {
        "Makefile": "test:\n\tsh tests/run.sh\n",
        "tests/run.sh": "true\n",
        "tests/test_other.py": "def test_a():\n    assert 1 == 1\n",
        "app.py": "x = 1\n",
    }
    made = make_repository(tmp_path / "r", files, checks=["make test"], untracked={"mine.txt": "mine\n"})
    made.start()
    return made


def test_protect_killed_at_any_moment_ends_the_same(here: Repository, record_property: Any) -> None:
    here.write({"app.py": "x = 2\n", "Makefile": "test:\n\ttrue\nnew:\n\ttrue\n", "GNUmakefile": "test:\n"})
    here.git("rm", "-q", "-r", "tests")
    here.write({"tests": "a file now\n"})
    args = {"task": "T", "iteration": 1, "snapshot": None, "may_edit": []}
    told = killed(here, "protect", args, SIZES.kill_points)
    assert told["moments"] > 50
    assert {one["path"] for one in told["whole"]["value"]["undone"]} == {"Makefile", "GNUmakefile", "tests/run.sh"}
    for moment, one in told["killed"].items():
        assert one["value"] == told["whole"]["value"], moment
        assert one["files"] == told["whole"]["files"], moment
    record_property("count", f"{len(told['killed'])} of {told['moments']} moments at which protecting was killed")


def test_checks_killed_at_any_moment_end_the_same(here: Repository, record_property: Any) -> None:
    here.write({"app.py": "x = 2\n", "new.py": "y = 1\n"})
    command = "cat app.py new.py mine.txt; ls; rm app.py new.py mine.txt; echo junk > junk.txt"
    checks = [{"command": command, "of": "task"}, {"command": "test ! -e app.py", "of": "guard"}]
    args = {"task": "T", "iteration": 1, "when": "after", "checks": checks}
    told = killed(here, "check", args, SIZES.kill_points // 2)
    assert told["moments"] > 50
    value = told["whole"]["value"]
    assert value["passed"] is True
    assert value["results"][0]["output"].startswith("x = 2\ny = 1\nmine\n")
    assert value["changed"] == ["app.py", "junk.txt", "mine.txt", "new.py"]
    for moment, one in told["killed"].items():
        assert _timeless(one["value"]) == _timeless(value), moment
        assert one["files"] == told["whole"]["files"], moment
        assert one["left"] == [], moment
    record_property("count", f"{len(told['killed'])} of {told['moments']} moments at which checking was killed")


def test_checks_in_a_checkout_killed_at_any_moment_end_the_same(tmp_path: Path, record_property: Any) -> None:
    files = {"a.txt": "1\n", "uv.lock": "1\n", ".gitignore": "deps/\n"}
    here = make_repository(tmp_path / "r", files, setup=["mkdir deps; echo made > deps/x"], clean="checkout")
    here.start()
    here.write({"a.txt": "2\n"})
    command = "cat a.txt deps/x; ls . deps; echo spoiled > a.txt; echo spoiled > deps/y"
    args = {"task": "T", "iteration": 1, "when": "after", "checks": [{"command": command, "of": "task"}]}
    told = killed(here, "check", args, SIZES.kill_points // 2)
    assert told["whole"]["value"]["results"][0]["output"].startswith("2\nmade\n")
    for moment, one in told["killed"].items():
        assert _timeless(one["value"]) == _timeless(told["whole"]["value"]), moment
        assert one["files"] == told["whole"]["files"], moment
    record_property("count", f"{len(told['killed'])} of {told['moments']} moments at which a checkout was killed")


BEFORE: dict[str, str | bytes] = {"a.txt": "1\n", "b/c.txt": "2\n", "gone/d": "3\n", "run.sh": "true\n", "same": "s\n"}
AFTER: dict[str, str | bytes] = {"a.txt": "2\n", "new/e": "4\n", "run.sh": "false\n"}


def _with_two_commits(folder: Path) -> tuple[Repository, str, str]:
    """Return a repository at the first of two commits, beside which a user works."""
    here = make_repository(folder, BEFORE)
    tip = here.git("rev-parse", "HEAD").strip()
    here.write(AFTER)
    here.git("rm", "-q", "-r", "gone")
    (here.folder / "link").symlink_to("a.txt")
    commit = here.commit()
    here.git("checkout", "-q", "--detach", tip)
    return here, tip, commit


def test_landing_killed_at_any_moment_ends_the_same_beside_changes_of_the_user(
    tmp_path: Path, record_property: Any
) -> None:
    here, tip, commit = _with_two_commits(tmp_path / "r")
    here.git("checkout", "-q", "-b", f"bridle/{RUN}")
    here.write({"same": "of the user\n", "gone/mine": "of the user\n", "untracked": "of the user\n"})
    told = killed(here, "land", {"task": "T", "iteration": 1, "commit": commit, "tip": tip}, 2 * SIZES.kill_points)
    whole = told["whole"]
    assert whole["state"][0].strip() == commit
    assert whole["state"][2].splitlines() == [" M same", "?? gone/", "?? untracked"]
    assert told["moments"] > 50
    for moment, one in told["killed"].items():
        kept = {name: one[name] for name in ("value", "files", "left", "state", "printed")}
        assert kept == {name: whole[name] for name in kept}, moment
    record_property("count", f"{len(told['killed'])} of {told['moments']} moments at which landing was killed")


def test_a_copy_that_is_moved_and_killed_at_any_moment_ends_the_same(tmp_path: Path, record_property: Any) -> None:
    here, _, commit = _with_two_commits(tmp_path / "r")
    args = {"task": "T", "iteration": 1, "tip": commit, "kept": None}
    told = killed(here, "prepare_copy", args, 2 * SIZES.kill_points)
    whole = told["whole"]
    assert (whole["state"][0].strip(), whole["state"][2]) == (commit, "")
    assert told["moments"] > 50
    for moment, one in told["killed"].items():
        kept = {name: one[name] for name in ("value", "files", "left", "state", "printed")}
        assert kept == {name: whole[name] for name in kept}, moment
    record_property("count", f"{len(told['killed'])} of {told['moments']} moments at which moving a copy was killed")


def _timeless(value: dict[str, Any]) -> dict[str, Any]:
    results = [{name: one[name] for name in one if name not in ("seconds", "log")} for one in value["results"]]
    return {**value, "results": results}
