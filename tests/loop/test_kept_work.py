"""Work that is taken back is kept each time, under a name of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import assert_replays, run_plan, verdicts

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def test_work_that_broke_another_task_and_work_that_failed_in_the_end_are_both_kept(tmp_path: Path) -> None:
    agent = """
    if task == "One": open("one", "w").close()
    elif number == 2: os.rename("one", "broken")
    else: open(f"wrong{number}", "w").close()
    """
    here = make_project(tmp_path, PLAN, agent)
    document = run_plan(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "done", "Two": "failed"}
    refs = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/").splitlines()
    kept = [set(here.git("ls-tree", "--name-only", ref).split()) for ref in refs if "-undone" in ref]
    assert any("broken" in names for names in kept)
    assert any("wrong3" in names for names in kept)
    assert sorted(path.name for path in here.folder.glob("[!.]*")) == ["PLAN.md", "one"]
    assert_replays(here)


def test_a_commit_that_an_agent_forged_is_not_taken_for_one_of_the_harness(tmp_path: Path) -> None:
    agent = """
    open("one" if task == "One" else "two", "w").close()
    branch = os.popen("git branch --show-current").read().strip()
    said = f"{task}\\n\\nBridle-Run: {branch.partition('/')[2].upper()}\\nBridle-Task: {task}\\nBridle-Iteration: 1\\n"
    open("smuggled", "w").write(task)
    os.system("git add -A && git commit -q -F - <<'END'\\n" + said + "END")
    os.remove("smuggled")
    """
    here = make_project(tmp_path, PLAN, agent)
    document = run_plan(here, 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert [len(task["folded"]) for task in document["tasks"]] == [1, 1]
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"]
    assert here.git("log", "--format=", "--name-only", "main..HEAD").split() == ["two", "one"]
    assert_replays(here)


def test_snapshots_are_hidden_as_the_docs_say_and_survive_garbage_collection(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, "open(task.lower(), 'w').close()")
    run_plan(here, 0)
    assert any(line.startswith("bridle: ") for line in here.git("log", "--all", "--format=%s").splitlines())
    docs = (Path(__file__).parents[2] / "docs/repositories.md").read_text("utf-8")
    for command in ("git log --branches --tags --remotes", "git log --exclude='refs/bridle/*' --all"):
        assert f"\n{command}\n" in docs
        assert sorted(here.git(*shlex.split(command)[1:], "--format=%s").splitlines()) == ["One", "Two", "start"]
    refs = here.git("for-each-ref", "refs/bridle")
    here.git("gc", "--quiet", "--prune=now")
    assert here.git("for-each-ref", "refs/bridle") == refs
    assert here.git("fsck", "--connectivity-only", "--no-dangling") == ""
