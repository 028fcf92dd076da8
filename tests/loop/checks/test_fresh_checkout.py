"""Checks in a fresh checkout: nothing of the working copy is there but the work, and a setup is not run for nothing."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.loop.checks import fresh_checkout
from bridle.loop.checks.setup_commands import setup_key
from tests.loop.fixtures.repositories import Repository, make_repository
from tests.workspace.fixtures.repositories import read_tree

FILES: dict[str, str | bytes] = {
    "app.txt": "one\n",
    "uv.lock": "v1\n",
    "old.txt": "old\n",
    ".gitignore": "deps/\n*.log\n",
}
SETUP = "mkdir -p deps && cp uv.lock deps/installed && echo run >> "


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    (tmp_path / "counts").mkdir()
    setup = f"{SETUP} {count_of(tmp_path)}"
    made = make_repository(
        tmp_path / "r",
        FILES,
        setup=(setup,),
        untracked={"mine.txt": "mine\n"},
        clean="checkout",
        writable=(tmp_path / "counts",),
    )
    made.start()
    return made


def count_of(folder: Path) -> Path:
    """The file in which every setup counts itself: beside the repository, since checkouts are removed."""
    return folder / "counts" / "setups"


def setups(here: Repository) -> int:
    count = count_of(here.folder.parent)
    return len(count.read_text().split()) if count.exists() else 0


def outputs(told: dict[str, object]) -> list[str]:
    results = told["results"]
    assert isinstance(results, list)
    return [item["output"] for item in results]


def test_a_checkout_has_only_the_work_and_what_the_setup_made(here: Repository) -> None:
    here.write({"app.txt": "two\n", "new.txt": "new\n", "deps/of-the-working-copy": "x", "x.log": "x"})
    (here.folder / "old.txt").unlink()
    result = here.check(
        "find . -type f -not -path './.git*' | sort; cat app.txt; pwd; echo $PWD; git status --porcelain"
    )
    *files, app, place, pwd = outputs(result)[0].split()
    assert files == ["./app.txt", "./deps/installed", "./new.txt", "./uv.lock"]
    assert (app, place) == ("two", pwd)
    assert Path(place).parent == here.folder / ".git/bridle-worktrees"
    assert result["passed"] is True
    here.git("add", "app.txt", "new.txt", "old.txt")
    assert result["tree"] == here.git("write-tree").strip()


def test_the_setup_is_run_again_only_when_a_lock_file_changes(here: Repository) -> None:
    assert here.check("cat deps/installed")["passed"]
    here.write({"app.txt": "two\n"})
    assert outputs(here.check("cat app.txt deps/installed")) == ["two\nv1\n"]
    assert setups(here) == 1
    here.write({"uv.lock": "v2\n"})
    assert outputs(here.check("cat deps/installed")) == ["v2\n"]
    assert setups(here) == 2
    here.write({"uv.lock": "v1\n"})
    assert outputs(here.check("cat deps/installed")) == ["v1\n"]
    assert setups(here) == 2


@pytest.mark.parametrize(
    ("files", "changed", "counts"),
    [
        ({"package.json": "{}"}, "package.json", True),
        ({"package.json": "{}", "package-lock.json": "1"}, "package.json", False),
        ({"package.json": "{}", "package-lock.json": "1"}, "package-lock.json", True),
        ({"sub/requirements-dev.txt": "a"}, "sub/requirements-dev.txt", True),
        ({"sub/requirements-dev.txt": "a"}, "sub/app.txt", False),
        ({"go.mod": "a", "go.sum": "b"}, "go.sum", True),
    ],
)
def test_what_a_setup_depends_on(files: dict[str, str], changed: str, counts: bool) -> None:
    before = dict.fromkeys(files, "1" * 40) | {changed: "1" * 40}
    after = {**before, changed: "2" * 40}
    assert (setup_key(("x",), before) != setup_key(("x",), after)) is counts
    assert setup_key(("x",), before) != setup_key(("y",), before)


def test_files_left_by_checks_are_removed_before_the_next_use(here: Repository) -> None:
    leave = (
        "echo x > junk.txt; mkdir -p build; echo y > build/y.log; echo z > deps/z; echo spoiled > app.txt; rm old.txt"
    )
    result = here.check(leave)
    assert result["changed"] == ["app.txt", "junk.txt", "old.txt"]
    seen = outputs(here.check("ls; ls deps; cat app.txt old.txt"))[0].split()
    assert seen == ["app.txt", "deps", "old.txt", "uv.lock", "installed", "one", "old"]
    assert setups(here) == 1
    assert read_tree(here.folder)["app.txt"] == ("file", b"one\n")


def test_a_check_that_hides_its_change_from_git_does_not_spoil_the_next(here: Repository) -> None:
    for flag in ("--assume-unchanged", "--skip-worktree"):
        assert here.check(f"git update-index {flag} app.txt old.txt; echo spoiled > app.txt; rm old.txt")["passed"]
        assert outputs(here.check("cat app.txt old.txt")) == ["one\nold\n"]
    assert here.check("git config core.fsmonitor true; git config core.ignoreStat true; echo spoiled > app.txt")[
        "passed"
    ]
    assert outputs(here.check("cat app.txt")) == ["one\n"]


@pytest.mark.parametrize("times", ["", "restored"])
def test_a_checkout_whose_installed_files_were_changed_is_created_again(here: Repository, times: str) -> None:
    spoil = "echo XX > deps/installed"
    if times:  # of the same size, and with its old mtime
        spoil = f"touch -r deps/installed kept.log; {spoil}; touch -r kept.log deps/installed"
    assert here.check(spoil)["passed"]
    assert outputs(here.check("cat deps/installed")) == ["v1\n"]
    assert setups(here) == 2
    assert any("the setup runs again" in line for line in here.printed)


def test_a_failed_setup_is_a_failed_check_and_is_retried(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    setup = f"test -e {beside}/may && echo fine || {{ echo broken; exit 7; }}"
    here = make_repository(tmp_path / "r", FILES, setup=(setup,), clean="checkout", writable=(beside,))
    here.start()
    result = here.check("true")
    assert result["passed"] is False
    assert [(item["command"], item["of"], item["exit_code"], item["output"]) for item in result["results"]] == [
        (setup, "guard", 7, "broken\n")
    ]
    (beside / "may").touch()
    assert here.check("true")["passed"] is True


def test_an_interrupted_setup_is_run_again(here: Repository) -> None:
    assert here.check("true")["passed"]
    for note in (here.folder / ".git/bridle-worktrees").glob("checks-*.json"):
        note.unlink()  # it is written when the setup is over
    assert here.check("cat deps/installed")["passed"]
    assert setups(here) == 2


def test_a_setup_that_writes_to_tracked_files_does_not_change_what_is_checked(tmp_path: Path) -> None:
    here = make_repository(
        tmp_path / "r", FILES, setup=("echo changed > uv.lock; echo made > made.txt",), clean="checkout"
    )
    here.start()
    assert outputs(here.check("cat uv.lock made.txt")) == ["v1\nmade\n"]
    assert outputs(here.check("cat uv.lock made.txt")) == ["v1\nmade\n"]
    assert here.check("true")["changed"] == []


def test_variables_that_lead_into_the_working_copy_lead_into_the_checkout(here: Repository) -> None:
    variables = {
        "PATH": f"{here.folder}/deps{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": f"{here.folder}/.venv",
        "MAKE_ELSEWHERE": f"{here.folder}-not/x",
    }
    result = Repository(here.context.with_variables(variables)).check(
        'echo "${PATH%%:*} $VIRTUAL_ENV $MAKE_ELSEWHERE $PWD"'
    )
    path, venv, elsewhere, pwd = outputs(result)[0].split()
    assert (path, venv, elsewhere) == (f"{pwd}/deps", f"{pwd}/.venv", f"{here.folder}-not/x")


def test_two_checks_at_once_have_a_checkout_each(here: Repository) -> None:
    other = replace(here.context, run_folder=here.folder / ".a5c/runs/other")

    async def story() -> list[str]:
        from bridle.loop.effects import Check, CheckArgs
        from bridle.loop.performers.check import check

        met = here.folder.parent / "counts"
        waits = (
            f"cd {met}; echo x > $MAKE_NAME; for n in $(seq 200); do [ -e a -a -e b ] && break; sleep 0.05; done;"
            " [ -e a -a -e b ] && cd - "
        )
        args = CheckArgs(task="T", iteration=1, checks=(Check(command=waits, owner="task"),))
        result = await asyncio.gather(
            *(
                check(args, context.with_variables({"MAKE_NAME": name}))
                for context, name in ((here.context, "a"), (other, "b"))
            )
        )
        return [item.results[0].output for item in result]

    assert len(set(asyncio.run(story()))) == 2
    assert setups(here) == 2


def test_only_the_last_few_checkouts_are_kept(here: Repository) -> None:
    for version in range(fresh_checkout.KEPT_CHECKOUTS + 2):
        here.write({"uv.lock": f"{version}\n"})
        assert here.check("true")["passed"]
    root = here.folder / ".git/bridle-worktrees"
    assert len([item for item in root.iterdir() if item.is_dir()]) == fresh_checkout.KEPT_CHECKOUTS
    assert len(here.git("worktree", "list").splitlines()) == fresh_checkout.KEPT_CHECKOUTS + 1
