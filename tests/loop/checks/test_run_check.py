"""A check is run to its end, with nothing left of it, on a tree that is known before and the same afterwards."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bridle.errors import DiskError, GitError, InternalError
from bridle.ground import clock
from bridle.loop.checks import fixed_tree
from bridle.loop.checks.run_check import HEAD_CHARACTERS, LOG_LIMIT_BYTES, TAIL_CHARACTERS, create_output
from bridle.loop.effects import CheckArgs
from bridle.wire.mask import MASKED, Mask
from tests.loop.fixtures.repositories import Repository, make_repository
from tests.sizes import SIZES
from tests.workspace.fixtures.repositories import index, read_tree

FILES: dict[str, str | bytes] = {"a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": "ignored/\n"}


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    made = make_repository(
        tmp_path / "r", FILES, untracked={"mine.txt": "mine\n"}, environment={"MY_API_KEY": "hunter2hunter2"}
    )
    made.start()
    return made


def test_each_check_has_its_result(here: Repository) -> None:
    result = here.check("echo out; echo err >&2; exit 3", "true")
    assert result["passed"] is False
    first, second = result["results"]
    assert (first["command"], first["of"], first["exit_code"]) == ("echo out; echo err >&2; exit 3", "task", 3)
    assert first["argv"] == ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]
    assert first["output"] == "out\nerr\n"
    assert (first["timed_out"], second["exit_code"]) == (False, 0)
    assert first["seconds"] >= 0
    assert here.check("true", "true")["passed"] is True


def test_no_check_at_all_is_not_a_pass(here: Repository) -> None:
    assert here.check()["passed"] is False


def test_a_check_without_an_owner_is_refused() -> None:
    with pytest.raises(InternalError, match="missing required field `of`"):
        CheckArgs.from_json({"checks": [{"command": "true"}]})


@pytest.mark.without_sandbox("prints a secret that a sandbox does not have")
def test_the_log_is_raw_and_private_and_everything_else_is_masked(here: Repository) -> None:
    result = here.check('printf "%s\\n" "$MY_API_KEY"')["results"][0]
    log = here.folder / result["log"]
    assert log.parent == here.folder / ".ralph/logs/checks"
    assert log.name.endswith("-T-1.log")
    assert log.read_text() == "hunter2hunter2\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert result["output"] == f"{MASKED}\n"


def test_a_check_runs_in_its_folder_with_the_users_environment_and_no_input(here: Repository) -> None:
    result = here.check('echo "$PWD"; pwd; cat; echo "${GIT_DIR-none}" "$MAKE_MARK"; git rev-parse --show-toplevel')
    assert result["results"][0]["output"].splitlines()[:2] == [str(here.folder)] * 2
    context = here.context.with_variables({"GIT_DIR": "/nowhere", "MAKE_MARK": "yes"})
    result = Repository(context).check('echo "${GIT_DIR-none}" "$MAKE_MARK"; git rev-parse --show-toplevel')
    assert result["results"][0]["output"].splitlines() == ["none yes", str(here.folder)]


def test_a_folder_keeps_its_logical_name(here: Repository) -> None:
    (here.folder.parent / "link").symlink_to(here.folder)
    result = Repository(here.context.in_working_copy(here.folder.parent / "link")).check("echo $PWD")
    assert result["results"][0]["output"] == f"{here.folder.parent / 'link'}\n"


def test_a_check_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", FILES, check_seconds=0.5)
    here.start()
    result = here.check("sleep 1234 & trap '' INT TERM; echo begun; while :; do sleep 1; done")["results"][0]
    assert (result["exit_code"], result["timed_out"]) == (-1, True)
    assert result["output"].startswith("begun\n")
    assert result["output"].endswith("\n[ended after 0.5 seconds, the limit for one check]\n")
    assert running("sleep", "1234") == []


def test_a_daemon_that_a_check_leaves_behind_is_ended(here: Repository) -> None:
    result = here.check("setsid sleep 4321 </dev/null >/dev/null 2>&1 & (sleep 4322 &) ; echo gone")["results"][0]
    assert (result["exit_code"], result["output"]) == (0, "gone\n")
    assert running("sleep", "4321") == running("sleep", "4322") == []


def running(*argv: str) -> list[int]:
    result = []
    for process in psutil.process_iter():
        try:
            if process.cmdline() == list(argv) and process.status() != psutil.STATUS_ZOMBIE:
                result.append(process.pid)
        except psutil.Error:
            continue
    return result


def test_a_check_that_kills_its_parent_does_not_kill_the_run(here: Repository) -> None:
    result = here.check("kill -9 $PPID; sleep 4323", "kill -9 $$", "kill -15 $$", "true")
    assert [item["exit_code"] for item in result["results"]] == [137, 137, 143, 0]
    assert running("sleep", "4323") == []


def test_a_check_that_prints_without_end_fills_neither_memory_nor_value(here: Repository) -> None:
    size = SIZES.loud_child_bytes
    before = psutil.Process().memory_info().rss
    result = here.check(f"echo begin; head -c {size} /dev/zero | tr '\\0' x; echo; echo end")["results"][0]
    assert result["exit_code"] == 0
    assert len(result["output"]) < HEAD_CHARACTERS + TAIL_CHARACTERS + 100
    assert result["output"].startswith("begin\nxxx")
    assert result["output"].endswith("x\nend\n")
    assert f"the middle of {size + 11} bytes is left out" in result["output"]
    assert psutil.Process().memory_info().rss - before < 30_000_000
    assert (here.folder / result["log"]).stat().st_size <= LOG_LIMIT_BYTES + 1_000_000


def test_colours_and_control_characters_are_only_in_the_log(here: Repository) -> None:
    result = here.check(r"printf '\033[31mred\033[0m\r\nx\000y\rz \033]8;;http://a\007link'")["results"][0]
    assert result["output"] == "red\nxy\nz link"
    assert b"\x1b[31m" in (here.folder / result["log"]).read_bytes()


def test_a_log_that_cannot_be_written_is_an_error_at_once(here: Repository) -> None:
    (here.folder / ".ralph/logs").mkdir(parents=True, exist_ok=True)
    (here.folder / ".ralph/logs/checks").symlink_to("/tmp")
    with pytest.raises(DiskError, match="is a link"):
        here.check("true")


# Logs


def test_logs_of_one_second_have_different_names(tmp_path: Path) -> None:
    moment = clock.now()
    made = [create_output(tmp_path, moment, "../x y/ä", 1, Mask()) for _ in range(3)]
    for item in made:
        item.close()
    assert len({item.path for item in made}) == 3
    assert {item.path.parent for item in made} == {tmp_path / ".ralph/logs/checks"}


# The tree that checks ran on


def test_the_checked_tree_is_that_of_the_commit(here: Repository) -> None:
    here.write({"a.txt": "changed\n", "new/c.txt": "new\n", "ignored/x": "i\n"})
    (here.folder / "sub/b.txt").unlink()
    result = here.check("true")
    assert result["tree"] == asyncio.run(fixed_tree.stage_work(here.context)).tree
    here.git("commit", "-q", "-m", "work")
    assert result["tree"] == here.git("rev-parse", "HEAD^{tree}").strip()
    assert here.git("ls-tree", "-r", "--name-only", "HEAD").split() == [".gitignore", "a.txt", "new/c.txt"]
    assert here.git("status", "--porcelain") == "?? mine.txt\n"
    assert here.check("true")["tree"] == result["tree"]


def test_changes_by_a_check_are_reported_and_reverted(here: Repository) -> None:
    here.write({"a.txt": "work\n", "staged.txt": "s\n"})
    here.git("add", "staged.txt")
    before, staged = read_tree(here.folder), index(here.folder)
    spoils = "echo x > a.txt; rm -r sub mine.txt; mkdir made ignored; echo y > made/y; chmod +x .gitignore"
    result = here.check(f"{spoils}; echo z > ignored/z")
    assert sorted(result["changed"]) == [".gitignore", "a.txt", "made/y", "mine.txt", "sub/b.txt"]
    assert result["changed_count"] == 5
    assert result["passed"] is True
    after = read_tree(here.folder)
    assert after.pop("ignored/z") == ("file", b"z\n")
    assert {name: item for name, item in after.items() if not name.startswith((".ralph", ".a5c"))} == before_files(
        before
    )
    assert index(here.folder) == staged
    assert here.check("true")["tree"] == result["tree"]
    assert any("a.txt" in line for line in here.printed)


def before_files(found: dict[str, tuple[str, bytes]]) -> dict[str, tuple[str, bytes]]:
    return {name: item for name, item in found.items() if not name.startswith((".ralph", ".a5c"))}


def test_reverted_changes_are_kept_under_a_ref(here: Repository) -> None:
    here.check("echo precious > note.txt")
    assert not (here.folder / "note.txt").exists()
    kept = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/taken-back").split()
    assert [here.git("show", f"{ref}:note.txt") for ref in kept] == ["precious\n"]
    assert any(kept[0] in line for line in here.printed)
    assert here.git("cat-file", "-t", kept[0]) == "commit\n"


def test_a_check_that_deletes_the_repositorys_files_destroys_nothing(here: Repository) -> None:
    here.write({"work.txt": "unsaved\n"})
    result = here.check("rm -rf ./* ; ls", "cat a.txt work.txt")
    assert [item["exit_code"] for item in result["results"]] == [0, 1]
    assert here.read("work.txt") == "unsaved\n"
    assert here.read("mine.txt") == "mine\n"


def test_a_check_that_checks_out_another_branch_does_not_lead_the_next_commit_there(here: Repository) -> None:
    here.write({"work.txt": "unsaved\n"})
    result = here.check(
        "git add -A && git -c user.name=x -c user.email=x@x commit -qm x && git checkout -q -b other HEAD~1"
    )
    assert ".git/HEAD" in result["changed"]
    assert here.git("symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert here.read("work.txt") == "unsaved\n"
    result = here.check("git checkout -q --detach")
    assert result["changed"] == [".git/HEAD"]
    here.git("checkout", "-q", "--detach")
    assert here.check("git checkout -q main")["changed"] == [".git/HEAD"]
    assert here.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD\n"


def test_a_change_hidden_from_the_index_is_still_in_the_tree(here: Repository) -> None:
    clean = here.check("true")["tree"]
    here.git("update-index", "--assume-unchanged", "a.txt")
    here.write({"a.txt": "two\n"})
    hidden = here.check("true")["tree"]
    here.git("update-index", "--no-assume-unchanged", "a.txt")
    assert clean != hidden == here.check("true")["tree"]


ROOT = Path(__file__).parents[3]


def _killed_by_its_check(here: Repository, command: str) -> None:
    """A Bridle of its own that runs a check, which kills it and goes on."""
    args = {"task": "T", "iteration": 1, "checks": [{"command": command, "of": "task"}]}
    code = (
        "import asyncio, json, sys, os, pathlib; from tests.loop.fixtures.repositories import reopen;"
        "from bridle.loop.effects import CheckArgs; from bridle.loop.performers.check import check;"
        "os.environ['BRIDLE_TO_KILL'] = str(os.getpid());"
        "asyncio.run(check(CheckArgs.from_json(json.loads(sys.argv[2])), reopen(pathlib.Path(sys.argv[1])).context))"
    )
    text = [sys.executable, "-c", code, str(here.folder), json.dumps(args)]
    done = subprocess.run(text, cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert done.returncode == -9, done.stderr.decode()


@pytest.mark.without_sandbox("kills Bridle from inside")
def test_the_tree_before_an_interrupted_check_is_restored(here: Repository) -> None:
    here.write({"work.txt": "unsaved\n"})
    _killed_by_its_check(here, "rm a.txt work.txt; echo junk > junk.txt; kill -9 $BRIDLE_TO_KILL; sleep 4324")
    result = here.check("cat a.txt work.txt; ls")
    assert result["results"][0]["output"].split() == ["one", "unsaved", "a.txt", "mine.txt", "sub", "work.txt"]
    assert running("sleep", "4324") == []
    assert any("a check was interrupted" in line for line in here.printed)
    refs = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots").split()
    assert "junk\n" in [here.git("show", f"{ref}:junk.txt") for ref in refs]


@pytest.mark.without_sandbox("kills Bridle from inside")
def test_an_interrupted_check_whose_tree_is_lost_is_reported_with_how_to_continue(here: Repository) -> None:
    _killed_by_its_check(here, "kill -9 $BRIDLE_TO_KILL; sleep 4325")
    (note,) = here.context.run_folder.glob("bridle-checks-*.json")
    note.write_text(json.dumps({"files": "0123456789" * 4, "head": None}))
    with pytest.raises(GitError, match=f"a check was interrupted in {here.folder}") as caught:
        here.check("true")
    assert f"remove {note}, then run: bridle resume {here.context.run}" in str(caught.value.remedy)
    note.unlink()
    assert here.check("true")["passed"]


@pytest.mark.without_sandbox("kills Bridle from inside")
def test_checks_wait_for_those_of_a_killed_bridle(here: Repository) -> None:
    stubborn = "trap '' TERM INT; kill -9 $BRIDLE_TO_KILL; while :; do echo junk > junk.txt; sleep 0.01; done"
    _killed_by_its_check(here, stubborn)
    result = here.check("sleep 0.3; ls")
    assert result["results"][0]["output"].split() == ["a.txt", "mine.txt", "sub"]
    assert result["changed"] == []


def test_the_log_of_a_check_in_a_worktree_is_in_the_repository(here: Repository) -> None:
    here.git("worktree", "add", "-q", "--detach", str(here.folder.parent / "copy"))
    copy = Repository(here.context.in_working_copy(here.folder.parent / "copy"))
    result = copy.check("pwd; git symbolic-ref HEAD refs/heads/inside")
    assert result["results"][0]["output"] == f"{copy.folder}\n"
    assert result["changed"] == [".git/HEAD"]
    assert (here.folder / result["results"][0]["log"]).is_file()
    assert not (copy.folder / ".ralph").exists()


# Each has other bytes than git would write when it checks the file out.
CONVERTED: dict[str, str | bytes] = {"a.crlf": b"x\n", "b.id": b"$Id: mine $\n", "c.lf": b"y\r\n"}
ATTRIBUTES = "*.crlf text eol=crlf\n*.id ident\n*.lf text\n"


KILLED = pytest.param(True, marks=pytest.mark.without_sandbox("kills Bridle from inside"), id="killed")


@pytest.mark.parametrize("is_killed", [False, KILLED])
def test_files_that_git_converts_are_restored_byte_for_byte(tmp_path: Path, is_killed: bool) -> None:
    here = make_repository(tmp_path / "r", {".gitattributes": ATTRIBUTES, "a.crlf": "x\n", "d.crlf": b"z\n"})
    here.write(CONVERTED)
    here.start()
    before = before_files(read_tree(here.folder))
    spoils = "for name in a.crlf b.id c.lf; do echo changed > $name; done; printf 'z\\r\\n' > d.crlf"
    if is_killed:
        _killed_by_its_check(here, f"{spoils}; kill -9 $BRIDLE_TO_KILL; sleep 4326")
        here.check("true")
    else:
        assert sorted(here.check(spoils)["changed"]) == ["a.crlf", "b.id", "c.lf", "d.crlf"]
    assert before_files(read_tree(here.folder)) == before
