"""A task is done only if its work is in its commit: not in files that git does not track, nor mixed with other work."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import assert_replays, receipt_of, run_plan, verdicts

PLAN = "# One\n\n## One\nCheck: `sh test.sh`\n"


@pytest.mark.parametrize("how", ["untracked", "ignored"])
def test_a_check_that_needs_a_file_which_no_commit_contains_is_not_enough(tmp_path: Path, how: str) -> None:
    agent = "open('tool.cfg', 'w').write('good')"
    ignores = {".gitignore": "*.cfg\n"} if how == "ignored" else {}
    here = make_project(tmp_path, PLAN, agent, **{"test.sh": "grep -q good tool.cfg\n"}, **ignores)
    (here.folder / "tool.cfg").write_text("bad")
    document = run_plan(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "failed"}
    reason = document["tasks"][0]["reason"]
    assert "its checks pass only with files that no commit contains (tool.cfg)" in reason
    assert "Put it into files that git tracks" in here.calls()[1]["prompt"]
    assert document["commits"] == []
    assert_replays(here)


def test_a_check_that_needs_nothing_in_the_repository_is_done_without_a_commit(tmp_path: Path) -> None:
    outside = tmp_path / "beside/outside"
    here = make_project(tmp_path, f"# One\n\n## One\nCheck: `test -f {outside}`\n", f"open({str(outside)!r}, 'w')")
    assert verdicts(run_plan(here, 0)) == {"One": "done"}


# The work is in a tracked file, and a check needs one more file.
BOTH = "grep -q good tool.cfg && grep -q good tracked\n"
NESTED = "import subprocess; subprocess.run(['git', 'init', '-q', 'sub'], check=True); path = 'sub/tool.cfg'"
COMMITTED = (
    f"{NESTED}; open(path, 'w').write('good'); git = ['git', '-C', 'sub', '-c', 'user.name=n', '-c', 'user.email=e'];"
    " [subprocess.run([*git, *words], check=True) for words in (['add', '-A'], ['commit', '-q', '-m', 'x'])]"
)
MIXED = {
    "ignored": "path = 'tool.cfg'",
    "in an ignored folder": "os.makedirs('conf', exist_ok=True); path = 'conf/tool.cfg'",
    "in a repository without a commit": NESTED,
    "in a repository with a commit": COMMITTED,
    "of the user": "path = 'mine.cfg'",
    "hidden by a mark": "path = 'old.cfg'",
    "removed from git": "import subprocess; path = 'old.cfg'; open('.gitignore', 'a').write('old.cfg'); "
    "subprocess.run(['git', 'rm', '-q', '--cached', path])",
}


COMMITTED_FIRST = ("removed from git", "hidden by a mark")


@pytest.mark.parametrize("where", MIXED)
def test_a_check_that_needs_both_the_commit_and_another_file_is_not_enough(tmp_path: Path, where: str) -> None:
    agent = f"open('tracked', 'w').write('good'); {MIXED[where]}; open(path, 'w').write('good')"
    path = {"ignored": "tool.cfg", "of the user": "mine.cfg", **dict.fromkeys(COMMITTED_FIRST, "old.cfg")}.get(where)
    path = path or ("sub/tool.cfg" if "repository" in where else "conf/tool.cfg")
    here = make_project(
        tmp_path,
        PLAN,
        agent,
        **{"test.sh": BOTH.replace("tool.cfg", path), "tracked": "bad", ".gitignore": "tool.cfg\nconf/\n"},
        **({"old.cfg": "bad"} if where in COMMITTED_FIRST else {}),
    )
    if where == "hidden by a mark":
        here.git("update-index", "--skip-worktree", path)
        (here.folder / path).write_text("local")
    if where == "of the user":
        (here.folder / path).write_text("bad")
    document = run_plan(here, 1, "--tries", "1")
    assert verdicts(document) == {"One": "failed"}
    named = "sub" if "repository" in where else path
    assert f"its checks pass only with files that no commit contains ({named}" in document["tasks"][0]["reason"]
    assert document["commits"] == []
    assert_replays(here)


CHECK = "grep -q . env.cfg && test -d node_modules && test -d kept && grep -q good tracked\n"
DEEDS = "open('env.cfg', 'w').write('other'); os.mkdir('node_modules')"
MAKES = "echo x >made.cfg; echo x >>again.cfg; "


@pytest.mark.parametrize("more", ["", "; open('other.cfg', 'w'); open('again.cfg', 'w')"])
def test_what_a_clone_does_not_need_or_the_user_had_is_left_alone(tmp_path: Path, more: str) -> None:
    """Ignored files and folders from before the run, dependencies; and others, if the check passes without them."""
    agent = f"open('tracked', 'w').write('good'); {DEEDS}{more}"
    ignores = "*.cfg\nnode_modules/\n"
    check = (MAKES if more else "") + CHECK
    here = make_project(tmp_path, PLAN, agent, **{"test.sh": check, "tracked": "bad", ".gitignore": ignores})
    (here.folder / "env.cfg").write_text("mine")
    (here.folder / "kept").mkdir()
    done = here.bridle("run", "PLAN.md", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert ("running the checks again without again.cfg, made.cfg, other.cfg" in done.stderr) == bool(more)
    assert ("running the checks again" in done.stderr) == bool(more)
    assert (here.folder / "env.cfg").read_text() == "other"
    assert (here.folder / "other.cfg").exists() == bool(more)
    assert (here.folder / "kept").is_dir()
    assert here.git("status", "--porcelain") == ""
    assert_replays(here)


# For each task: what its agent does, the check that passes then, and what the reason names.
UNLIKE_A_CLONE = {
    "Seeded": ("echo seed >data.cfg", "grep -q seed data.cfg && echo more >>data.cfg", "data.cfg"),
    "Settings": ("echo KEY=1 >.env", ". ./.env && test $KEY = 1", ".env"),
    "Hidden": (
        "mkdir build && echo x >build/source.py && echo build/ >>.gitignore",
        "test -f build/source.py",
        "build/source.py",
    ),
    "Folder": ("mkdir var", "echo x >var/app.log", "var/: git stores no folder without files"),
    "Fifo": ("mkfifo pipe", "test -p pipe", "pipe: git stores no such file"),
    "Endings": (
        "printf 'a\\r\\n' >a.txt",
        "grep -q \"$(printf '\\r')\" a.txt",
        "a.txt: git stores other bytes",
    ),
    "Checkout": (
        "printf 'true\\n' >a.sh; echo '*.sh eol=crlf' >>.gitattributes",
        "! grep -q \"$(printf '\\r')\" a.sh",
        "a.sh: git stores other bytes",
    ),
    "Filter": ("echo secret >a.key", "grep -q secret a.key", "a.key: git stores other bytes"),
    "Mode": (
        "chmod +x old",
        "find . -maxdepth 1 -type f -perm -u+x | grep -q .",
        "old: git does not store that it is executable, or not",
    ),
    "Submodule": (
        "echo changed >sub/a; echo new >sub/b; rm sub/c",
        "sh test.sh",
        "sub/a: no commit of the submodule contains it, sub/b: no commit of the submodule contains it, sub/c: ",
    ),
}
IN_SUBMODULE = "grep -q changed sub/a && test -f sub/b && test ! -f sub/c\n"
PREPARE = (
    "touch old; git config core.fileMode false; git config filter.hide.clean 'sed s/secret/hidden/';"
    " printf '*.txt text\\n*.key filter=hide\\n' >.gitattributes;"
    " git init -q ../lib && touch ../lib/a ../lib/c && git -C ../lib add -A && git -C ../lib -c user.name=n"
    " -c user.email=e commit -q -m a && git -c protocol.file.allow=always submodule --quiet add ../lib sub;"
    " git add -A; git commit -q -m prepared"
)


def test_a_check_that_passes_only_in_this_copy_is_not_enough(tmp_path: Path) -> None:
    """Each task also changes a file that its commit would contain."""
    deeds = {title: f"echo good >tracked; {deed}" for title, (deed, _, _) in UNLIKE_A_CLONE.items()}
    tasks = (
        f"## {title}\nCheck: ``{check} && grep -q good tracked``" for title, (_, check, _) in UNLIKE_A_CLONE.items()
    )
    agent = f"import subprocess; subprocess.run(['sh', '-c', {deeds!r}[task]], check=True)"
    ignores = "*.cfg\n.env\n*.log\n"
    here = make_project(
        tmp_path, "# Ten\n\n" + "\n\n".join(tasks) + "\n", agent, **{".gitignore": ignores, "test.sh": IN_SUBMODULE}
    )
    subprocess.run(["sh", "-c", PREPARE], cwd=here.folder, env=here.environment(), check=True)
    document = run_plan(here, 1, "--tries", "1")
    assert verdicts(document) == dict.fromkeys(UNLIKE_A_CLONE, "failed")
    for task in document["tasks"]:
        assert "its checks pass only with files that no commit contains (" in task["reason"]
        assert UNLIKE_A_CLONE[task["title"]][2] in task["reason"]
    assert document["commits"] == []
    assert_replays(here)


ASKS = """
if "The answer" not in prompt and "green" not in prompt:
    open("half-" + task.lower(), "w").write(task)
    answer |= {"question": f"Which colour for {task}?", "done": False}
else:
    open(task.lower(), "w").close()
"""
TWO = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def effects(document: dict[str, object]) -> dict[str, str]:
    tasks = document["tasks"]
    assert isinstance(tasks, list)
    return {task["title"]: task["effect"] for task in tasks if "effect" in task}


@pytest.mark.parametrize("first", ["One", "Two"])
def test_two_questions_do_not_mix_their_work(tmp_path: Path, first: str) -> None:
    here: Project = make_project(tmp_path, TWO, ASKS)
    document = run_plan(here, 4)
    assert verdicts(document) == {"One": "needs you", "Two": "needs you"}
    open_questions = effects(document)
    document = receipt_of(here.bridle("answer", open_questions.pop(first), "green", "--resume", "--json"), 4)
    files = here.git("show", "--name-only", "--format=", "HEAD").split()
    other = next(iter(open_questions))
    assert first.lower() in files
    assert f"half-{other.lower()}" not in files
    document = receipt_of(here.bridle("answer", open_questions[other], "green", "--resume", "--json"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert_replays(here)


def test_the_work_of_the_only_task_stays_while_its_question_waits(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# One\n\n## One\nCheck: `test -f one`\n", ASKS)
    document = run_plan(here, 4)
    assert (here.folder / "half-one").read_text() == "One"
    document = receipt_of(here.bridle("answer", effects(document)["One"], "green", "--resume", "--json"), 0)
    assert here.git("show", "--name-only", "--format=", "HEAD").split() == ["half-one", "one"]
    assert_replays(here)


KILLED = "open('tracked', 'w').write('good'); open('more.cfg', 'w').write('mine')"
KILLED_IGNORES = "*.cfg\n"


def kill_in_check(here: Project) -> None:
    """Run the plan until a check kills the driver."""
    here.kill_when_asked()
    assert here.bridle("run", "PLAN.md", "--json").returncode == -signal.SIGKILL


def test_files_that_were_moved_for_a_check_are_put_back_after_a_kill(tmp_path: Path) -> None:
    stop = tmp_path / "beside/stop"
    dies = f"test -f more.cfg || test -f {stop} || {{ touch {stop}; : > {tmp_path}/beside/kill; sleep 60; }}"
    check = f"grep -q good tracked || exit 1\n{dies}\n"
    here = make_project(tmp_path, PLAN, KILLED, **{"test.sh": check, "tracked": "bad", ".gitignore": KILLED_IGNORES})
    kill_in_check(here)
    assert not (here.folder / "more.cfg").exists()
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}
    assert (here.folder / "more.cfg").read_text() == "mine"
    assert here.git("status", "--porcelain") == ""
    assert_replays(here)


TWO_TASKS = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nNeeds: One\nCheck: `test -f two && test -f tool.cfg`\n"
LEAVES = "open(task.lower(), 'w'); task == 'One' and open('tool.cfg', 'w')"


@pytest.mark.parametrize("mode", [(), ("--parallel", "2"), ("--max-iterations", "1")])
def test_an_ignored_file_that_an_earlier_task_left_is_not_enough(tmp_path: Path, mode: tuple[str, ...]) -> None:
    here = make_project(tmp_path, TWO_TASKS, LEAVES, **{".gitignore": "*.cfg\n"})
    has_limit = "--max-iterations" in mode
    document = run_plan(here, 3 if has_limit else 1, "--tries", "1", *mode)
    if has_limit:
        document = receipt_of(here.bridle("resume", "--max-iterations", "9", "--json"), 1)
    assert verdicts(document) == {"One": "done", "Two": "failed"}
    assert "pass only with files that no commit contains (tool.cfg)" in document["tasks"][1]["reason"]
    assert_replays(here)


def test_an_ignored_file_that_was_put_back_after_a_kill_is_not_the_users(tmp_path: Path) -> None:
    stop = tmp_path / "beside/stop"
    dies = f"test -f more.cfg || {{ touch {stop}; : > {tmp_path}/beside/kill; sleep 60; }}"
    check = f"grep -q good tracked || exit 1\ntest -f {stop} && exec test -f more.cfg\n{dies}\n"
    here = make_project(tmp_path, PLAN, KILLED, **{"test.sh": check, "tracked": "bad", ".gitignore": KILLED_IGNORES})
    kill_in_check(here)
    assert verdicts(receipt_of(here.bridle("resume", "--tries", "1", "--json"), 1)) == {"One": "failed"}
