"""`bridle run --parallel N`: several tasks at once, each in a worktree, and landed one at a time through the checks."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pending_waits
from tests.fixtures.sandbox import write_user_settings
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import (
    assert_replays,
    current_wait,
    in_background,
    receipt_of,
    run_folder,
    run_plan,
    trailers,
    verdicts,
    working_copy_state,
)
from tests.loop.fixtures.random_kills import ANY, BETWEEN, STARTING, JournalWatch, KilledRun
from tests.run.fixtures.fake_agent import wait_until
from tests.sizes import SIZES

APART = "# Apart\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
# Waits until the agents of these tasks are all at work at the same time, and says where each of them works.
MEETS = """
def meet(*tasks):
    beside = os.path.dirname(calls)
    with open(os.path.join(beside, "here-" + task), "w") as file:
        file.write(os.getcwd())
    deadline = time.monotonic() + 60
    while not all(os.path.exists(os.path.join(beside, "here-" + one)) for one in tasks):
        assert time.monotonic() < deadline, "the others do not come"
        time.sleep(0.01)
"""
WORKS = "open(task.lower(), 'w').close()"


def agent(*parts: str) -> str:
    """The lines of an agent, put together."""
    return "\n".join(textwrap.dedent(part) for part in parts)


def history(here: Project, document: dict[str, Any]) -> list[str]:
    return here.git("log", "--reverse", "--format=%s", f"main..{document['branch']}").splitlines()


def of(here: Project, task: str) -> list[dict[str, Any]]:
    return [call for call in here.calls() if call["task"] == task]


def test_two_tasks_are_worked_on_at_the_same_time_and_each_has_one_commit_on_the_others(tmp_path: Path) -> None:
    here = make_project(tmp_path, APART, agent(MEETS, "meet('One', 'Two')", WORKS))
    (here.folder / "mine.txt").write_text("of the person")
    before = working_copy_state(here)
    document = run_plan(here, 0, "--parallel", "2")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert sorted(history(here, document)) == ["One", "Two"]
    assert sorted(here.git("rev-list", f"main..{document['branch']}").split()) == sorted(document["commits"])
    assert here.git("rev-list", "--merges", f"main..{document['branch']}") == ""
    for task in document["tasks"]:
        said = trailers(here, task["commit"])
        assert (said["Bridle-Task"], said["Bridle-Cost"]) == (task["title"], "0.0100 USD")
        assert here.git("show", "--name-only", "--format=", task["commit"]) == task["title"].lower()
    last = max(document["tasks"], key=lambda task: len(task["checks"]))
    assert trailers(here, last["commit"])["Bridle-Checks"] == "2 passed"
    folders = {(here.agent_folder / f"here-{name}").read_text() for name in ("One", "Two")}
    assert folders == {f"{document['worktree']}-{number}" for number in (1, 2)}
    assert here.git("-C", document["worktree"], "status", "--porcelain", "--branch") == f"## {document['branch']}"
    assert document["cost_usd"] == 0.02
    assert working_copy_state(here) == before
    assert receipt_of(here.bridle("status", "--json"), 0) == document
    assert_replays(here)


def test_what_a_task_needs_has_landed_before_it_begins(tmp_path: Path) -> None:
    plan = (
        APART + "\n## Three\nNeeds: One\nCheck: `test -f three`\n\n## Four\nNeeds: Two, Three\nCheck: `test -f four`\n"
    )
    does = """
    needs = {"Three": ["one"], "Four": ["one", "two", "three"]}.get(task, [])
    assert all(os.path.exists(name) for name in needs), os.listdir()
    """
    here = make_project(tmp_path, plan, agent(does, WORKS))
    document = run_plan(here, 0, "--parallel", "3")
    assert set(verdicts(document).values()) == {"done"}
    assert document["iterations"] == 4
    order = history(here, document)
    assert order.index("One") < order.index("Three") < order.index("Four")
    assert order.index("Two") < order.index("Four")
    assert_replays(here)


def test_a_conflict_is_handed_back_with_what_it_conflicts_with_and_where_the_work_is(tmp_path: Path) -> None:
    does = """
    import subprocess
    if "could not be merged" in prompt:
        ref = prompt.split("is kept as ")[1].split(":")[0]
        mine = subprocess.run(["git", "show", ref + ":shared.txt"], capture_output=True, text=True, check=True).stdout
        theirs = open("shared.txt").read()
        open("shared.txt", "w").write(theirs + mine)
    else:
        meet("One", "Two")
        open("shared.txt", "w").write(task + "\\n")
    """
    here = make_project(tmp_path, APART, agent(MEETS, does, WORKS), **{"shared.txt": "nobody\n"})
    document = run_plan(here, 0, "--parallel", "2")
    assert verdicts(document) == {"One": "done", "Two": "done"}
    second = history(here, document)[1]
    tried = {task["title"]: (task["iterations"], task["tries"]) for task in document["tasks"]}
    assert tried == {second: (2, 1), history(here, document)[0]: (1, 0)}
    told = of(here, second)[1]["prompt"].split("## Notes on the last iteration")[1].split("\n## ")[0]
    assert "shared.txt conflicts with work of" in " ".join(told.split())
    assert repr(history(here, document)[0]) in told
    assert sorted(here.git("show", f"{document['branch']}:shared.txt").split()) == ["One", "Two"]
    assert len(document["commits"]) == 2
    assert_replays(here)


def test_a_rejected_task_whose_checks_pass_with_the_landed_work_is_done_without_a_commit(tmp_path: Path) -> None:
    does = """
    if "could not be merged" in prompt:
        answer["done"] = False
        end(structured_output=answer)
    meet("One", "Two")
    for name in ("one", "two"):
        open(name, "w").write(task + "\\n")
    """
    here = make_project(tmp_path, APART, agent(MEETS, does))
    document = run_plan(here, 0, "--parallel", "2")
    (landed,) = history(here, document)
    (second,) = (task for task in document["tasks"] if task["title"] != landed)
    assert (second["verdict"], second["tries"], second["commit"]) == ("done", 1, None)
    assert second["reason"] == "its checks passed; the agent changed nothing"
    assert here.git("show", f"{document['branch']}:two") == landed
    assert_replays(here)


def test_a_conflict_counts_as_a_try(tmp_path: Path) -> None:
    does = "meet('One', 'Two')\nopen('shared.txt', 'w').write(task + '\\n')"
    here = make_project(tmp_path, APART, agent(MEETS, does, WORKS), **{"shared.txt": "nobody\n"})
    document = run_plan(here, 1, "--parallel", "2", "--tries", "1")
    (landed,) = history(here, document)
    (lost,) = (task for task in document["tasks"] if task["title"] != landed)
    assert (lost["verdict"], lost["tries"], lost["commit"]) == ("failed", 1, None)
    assert "merge conflict with work that has landed since, in shared.txt" in lost["reason"]
    assert here.git("show", f"{document['branch']}:shared.txt") == landed
    kept = here.git("for-each-ref", "--format=%(refname)", f"refs/bridle/kept/{document['run'].lower()}").splitlines()
    assert here.git("show", f"{next(ref for ref in kept if lost['title'].lower() in ref)}:shared.txt") == lost["title"]
    assert_replays(here)


def test_work_that_is_red_together_with_that_of_others_is_handed_back_and_never_lands(tmp_path: Path) -> None:
    guard = "Checks: `test ! -f one || test ! -f two || test -f both || { echo NOT-TOGETHER; false; }`\n\n"
    does = """
    if "## Output of the checks that failed" in prompt:
        assert os.path.exists("one") and os.path.exists("two"), os.listdir()
        open("both", "w").close()
    else:
        meet("One", "Two")
        open(task.lower(), "w").close()
    """
    here = make_project(tmp_path, APART.replace("# Apart\n\n", "# Apart\n\n" + guard), agent(MEETS, does))
    document = run_plan(here, 0, "--parallel", "2")
    first, second = history(here, document)
    tried = {task["title"]: (task["iterations"], task["tries"]) for task in document["tasks"]}
    assert tried == {first: (1, 0), second: (2, 1)}
    assert "work of other tasks that has landed since" in of(here, second)[1]["prompt"]
    names = here.git("show", "--name-only", "--format=", document["branch"]).split()
    assert names == sorted(["both", second.lower()])
    for commit in here.git("rev-list", document["branch"]).split():
        there = here.git("ls-tree", "--name-only", commit).split()
        assert not {"one", "two"} <= set(there) or "both" in there, "what is red never landed"
    assert_replays(here)


def test_the_checks_of_a_task_that_landed_first_judge_the_next(tmp_path: Path) -> None:
    """Two deletes what One's check wants, in a file of which only Two knows: no conflict, and red all the same."""
    plan = "# P\n\n## One\nCheck: `test -f one && ls | grep -q ^bas`\n\n## Two\nCheck: `test -f two`\n"
    does = """
    if task == "One":
        meet("One", "Two")
    elif len([1 for line in open(calls) if json.loads(line)["task"] == "Two"]) == 1:
        meet("One", "Two")
        os.remove("base")
        while not os.popen("git log --branches --format=%s | grep -x One").read(): time.sleep(0.05)
    elif not os.path.exists("base"):
        open("base", "w").close()
    open(task.lower(), "w").close()
    """
    here = make_project(tmp_path, plan, agent(MEETS, does), base="")
    document = run_plan(here, 0, "--parallel", "2")
    assert history(here, document) == ["One", "Two"]
    assert document["tasks"][1]["tries"] == 1
    assert here.git("ls-tree", "--name-only", document["branch"]).split() == ["PLAN.md", "base", "one", "two"]
    assert_replays(here)


def test_a_question_frees_its_worker_and_the_answer_goes_on_where_the_work_and_the_session_are(tmp_path: Path) -> None:
    plan = "# P\n\n" + "\n".join(f"## {name}\nCheck: `test -f {name.lower()}`\n" for name in ("One", "Two", "Three"))
    does = """
    open(os.path.join(os.path.dirname(calls), "where-" + task), "a").write(os.getcwd() + "\\n")
    if task == "One" and "The user's answer" not in prompt:
        open("half", "w").close()
        end(structured_output={"summary": "", "done": False, "question": "Which colour?", "patterns": []})
    assert (task == "One") == os.path.exists("half"), "work of one task is in no other's"
    """
    here = make_project(tmp_path, plan, agent(does, WORKS))
    document = run_plan(here, 4, "--parallel", "2")
    assert verdicts(document) == {"One": "needs you", "Two": "done", "Three": "done"}
    assert "half" not in here.git("ls-tree", "--name-only", document["branch"])
    document = receipt_of(here.bridle("answer", document["tasks"][0]["effect"], "blue", "--resume", "--json"), 0)
    assert verdicts(document)["One"] == "done"
    assert here.git("show", "--name-only", "--format=", document["branch"]).split() == ["half", "one"]
    first, second = (here.agent_folder / "where-One").read_text().split()
    assert first == second
    assert any(word.startswith("--resume=") for word in of(here, "One")[1]["argv"])
    assert_replays(here)


def test_the_cost_of_what_is_under_way_counts_before_the_next_begins(tmp_path: Path) -> None:
    """Each costs 0.01: with 0.01 spent and another under way, a third would be above 0.025."""
    plan = "# P\n\n" + "\n".join(f"## {name}\nCheck: `test -f {name.lower()}`\n" for name in ("One", "Two", "Three"))
    does = """
    if task == "Two":
        deadline = time.monotonic() + 60
        while not os.popen("git log --branches --format=%s | grep -x One").read():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1)  # room for a third that must not begin
    """
    here = make_project(tmp_path, plan, agent(does, WORKS))
    document = run_plan(here, 3, "--parallel", "2", "--max-cost", "0.025")
    assert verdicts(document) == {"One": "done", "Two": "done", "Three": "pending"}
    assert document["cost_usd"] == 0.02
    assert verdicts(receipt_of(here.bridle("resume", "--json", "--max-cost", "1"), 0))["Three"] == "done"
    assert_replays(here)


def test_a_hint_reaches_one_worker_and_what_was_learned_reaches_all(tmp_path: Path) -> None:
    plan = APART + "\n## Three\nNeeds: One, Two\nCheck: `test -f three`\n"
    does = """
    if task != "Three": meet("One", "Two")
    answer["patterns"] = ["LEARNED " + task]
    """
    here = make_project(
        tmp_path, plan, agent(MEETS, "if 'HEARD' in prompt: open(calls + '-' + task, 'w').close()", does, WORKS)
    )
    run_plan(here, 3, "--parallel", "2", "--max-time", "0.001")
    assert here.bridle("hint", "HEARD").returncode == 0
    document = receipt_of(here.bridle("resume", "--json", "--max-time", "1h"), 0)
    assert len(list(here.agent_folder.glob("calls-*"))) == 1
    assert {"LEARNED One", "LEARNED Two"} <= {
        line.removeprefix("- ") for line in of(here, "Three")[0]["prompt"].splitlines()
    }
    for number in (1, 2):
        assert "LEARNED" in Path(f"{document['worktree']}-{number}/.ralph/progress.md").read_text()


# The first agent of each task is at its limit; the second is not.
LIMITED = """
first = os.path.join(os.path.dirname(calls), "limited-" + task)
if not os.path.exists(first):
    open(first, "w").close()
    meet("One", "Two")
    show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
    end("success", True, "You've hit your limit")
"""


def test_a_usage_limit_is_waited_for_by_all_workers_and_a_kill_halfway_changes_nothing(tmp_path: Path) -> None:
    here = make_project(tmp_path, APART, agent(MEETS, LIMITED, WORKS))
    with in_background(here, "run", "PLAN.md", "--parallel", "2") as first:
        wait_until(lambda: len(waits(here)) == 2)
        os.killpg(first.pid, signal.SIGKILL)
    assert len(here.calls()) == 2
    with in_background(here, "resume", "--json") as second:
        wait_until(lambda: str(second.pid) in (run_folder(here) / "bridle-drive.lock").read_text())
        assert len(waits(here)) == 2
        while (nap := current_wait(here)) is not None:
            assert pending_waits.end(FileStore(run_folder(here)), nap)
        said, _ = second.communicate(timeout=LIMIT_SECONDS)
    assert second.returncode == 0, said
    document = json.loads(said)
    assert {task["title"]: (task["verdict"], task["iterations"], task["tries"]) for task in document["tasks"]} == {
        "One": ("done", 2, 0),
        "Two": ("done", 2, 0),
    }
    assert len(here.calls()) == 4
    assert_replays(here)


def test_another_agent_takes_over_for_all_workers_where_one_is_at_its_limit(tmp_path: Path) -> None:
    here = make_project(tmp_path, APART, agent(MEETS, LIMITED, WORKS))
    other = shutil.copy(here.agent_folder / "claude", here.agent_folder / "other")
    words = ("run", "PLAN.md", "--json", "--parallel", "2", "--agent", "claude,bridle-agent")
    document = receipt_of(here.bridle(*words, BRIDLE_BRIDLE_AGENT=str(other)), 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert [task["tries"] for task in document["tasks"]] == [0, 0]
    assert len(here.calls()) == 4
    assert_replays(here)


def waits(here: Project) -> list[str]:
    """The effects in which a run waits for a moment."""
    if not any((here.folder / ".a5c/runs").glob("[!.]*")):
        return []
    pending = FileStore(run_folder(here)).position().pending
    return [effect_id for effect_id, one in pending.items() if one.kind == "sleep"]


def test_a_failed_task_leaves_nothing_to_the_next_one_of_its_worker(tmp_path: Path) -> None:
    plan = "# P\n\n" + "\n".join(f"## {name}\nCheck: `test -f {name.lower()}`\n" for name in ("One", "Two", "Three"))
    does = """
    assert not os.path.exists("left") or task == "One", "what One left is in no other's"
    if task == "One":
        open("left", "a").write("x")
        os.system("git add left && git commit -q -m own && git checkout -q -b elsewhere")
        end(structured_output=answer)
    """
    here = make_project(tmp_path, plan, agent(does, WORKS))
    document = run_plan(here, 1, "--parallel", "2", "--tries", "2")
    assert verdicts(document) == {"One": "failed", "Two": "done", "Three": "done"}
    assert here.git("ls-tree", "--name-only", document["branch"]).split() == ["PLAN.md", "three", "two"]
    assert here.git("branch", "--show-current") == "main"
    document = receipt_of(here.bridle("retry", "One", "--resume", "--json"), 1)
    assert document["tasks"][0]["iterations"] == 4
    assert_replays(here)


TITLES = [f"Task {n}" for n in range(1, SIZES.parallel_tasks + 1)]
# The first three want the same file; every fifth needs the one before it.
MANY = "# Many\n\nChecks: `true`\n\n" + "\n".join(
    f"## {title}\n" + (f"Needs: {TITLES[n - 2]}\n" if n % 5 == 0 else "") + f"Check: `grep -q whole '{title}'`\n"
    for n, title in enumerate(TITLES, 1)
)
MANY_AGENT = r"""#!/bin/sh
read -r line
task=${line#*'## Task\n\n**'}
task=${task%%'**'*}
session='"session_id":"10f6d3c2-0000-4000-8000-000000000001"'
echo '{"type":"system","subtype":"init",'$session',"cwd":"'"$PWD"'","tools":[],"model":"claude-sonnet-4-5",
"permissionMode":"default","apiKeySource":"none","claude_code_version":"2.1.197"}' | tr -d '\n'
echo
echo half >> "$task"
case $task in 'Task 1' | 'Task 2' | 'Task 3') grep -q "$task" shared || echo "$task" >> shared ;; esac
echo whole >> "$task"
echo '{"type":"result","subtype":"success",'$session',"is_error":false,"result":"done","num_turns":1,"duration_ms":1,
"usage":{"input_tokens":10,"output_tokens":2},"permission_denials":[],"total_cost_usd":0.00'$((100 + ${task#Task }))',
"structured_output":{"summary":"It is there.","done":true,"question":"","patterns":[]}}' | tr -d '\n'
echo
"""


def test_two_workers_of_which_everything_is_killed_again_and_again_do_every_task_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("LOOP_SEED") or random.SystemRandom().randrange(10**6))
    chance = random.Random(seed)  # noqa: S311  # moments of kills are no secret
    here = make_project(tmp_path, MANY, "", **{"bridle.toml": "parallel = 2\n", "shared": ""})
    write_user_settings("summarize_every = 100000\nmax_iterations = 100000\ntries = 9\n")
    (here.agent_folder / "claude").write_text(MANY_AGENT)
    (here.folder / "mine.txt").write_text("of the person")
    before = working_copy_state(here)
    killed = KilledRun(here, chance, JournalWatch(here.folder / ".a5c/runs"))
    kinds = ("take", "check", "work", "protect", "commit", "merge", "land")
    targets = [*(f"bridle.{kind}" for kind in kinds), BETWEEN, STARTING, ANY]
    for n in range(SIZES.parallel_kills):
        if not killed.kill_during(chance.choice(targets) if n % 2 else ANY):
            ended = receipt_of(here.bridle("status", "--json"), 0)
            assert set(verdicts(ended).values()) == {"done"}, f"a Bridle ended before its run: LOOP_SEED={seed}"
            break
    last = killed.start()
    assert last.wait(LIMIT_SECONDS + 10 * len(TITLES)) == 0, f"LOOP_SEED={seed}"
    record_property("count", f"{len(killed.killed_during)} effects under way in kills of two workers, LOOP_SEED={seed}")
    document = receipt_of(here.bridle("status", "--json"), 0)
    assert set(verdicts(document).values()) == {"done"}, seed
    order = history(here, document)
    assert sorted(order) == sorted(TITLES), seed
    assert sorted(here.git("rev-list", f"main..{document['branch']}").split()) == sorted(document["commits"]), seed
    for n, title in enumerate(TITLES, 1):
        if n % 5 == 0:
            assert order.index(TITLES[n - 2]) < order.index(title), seed
    assert sorted(here.git("show", f"{document['branch']}:shared").splitlines()) == TITLES[:3], seed
    assert working_copy_state(here) == before, seed
    judge_costs(here, document, seed)
    assert_replays(here)


def judge_costs(here: Project, document: dict[str, Any], seed: int) -> None:
    """Whatever an agent said that it cost is counted once."""
    paid = dict.fromkeys(TITLES, 0.0)
    for log in (here.folder / ".ralph/worktrees").glob("*/.ralph/logs/claude/*.ndjson"):
        for line in log.read_text().splitlines():
            if '"total_cost_usd"' in line:
                number = log.name.split("-Task-")[1].split(".")[0].split("-")[0]
                paid[f"Task {number}"] += json.loads(line)["total_cost_usd"]
    assert {task["title"]: task["cost_usd"] for task in document["tasks"]} == pytest.approx(paid), seed
    assert document["cost_usd"] == pytest.approx(sum(paid.values())), seed


def together(*titles: str) -> str:
    """A plan whose tasks all add a line to one file."""
    tasks = "".join(f"\n## {title}\nCheck: `test -f {title.lower()}`\n" for title in titles)
    return f"# Together\n{tasks}"


# An agent that merges its kept work by hand where it is told to, and else adds its line at the end.
ADDS_ITS_LINE = """
text = open("shared.txt").read()
if task != "Apart" and task not in text.split():
    open("shared.txt", "w").write(text + task + "\\n")
"""


def test_tasks_that_change_the_same_file_all_finish_within_their_tries(tmp_path: Path) -> None:
    titles = ("One", "Two", "Three", "Four", "Five", "Six")
    does = f"if 'could not be merged' not in prompt:\n    meet({', '.join(map(repr, titles))})\n"
    here = make_project(
        tmp_path, together(*titles), agent(MEETS, does, ADDS_ITS_LINE, WORKS), **{"shared.txt": "first\n"}
    )
    document = run_plan(here, 0, "--parallel", str(len(titles)), "--tries", "2")
    assert set(verdicts(document).values()) == {"done"}
    assert sorted(here.git("show", f"{document['branch']}:shared.txt").split()[1:]) == sorted(titles)
    assert sorted(task["tries"] for task in document["tasks"]) == [0, 1, 1, 1, 1, 1]
    assert document["iterations"] == 2 * len(titles) - 1
    assert_replays(here)


def test_other_tasks_work_on_while_a_rejected_one_has_its_turn(tmp_path: Path) -> None:
    """The second try of a rejected task ends only once a task that starts after the conflict is at work, too."""
    plan = together("One", "Two") + "\n## Apart\nCheck: `test -f apart`\n"
    does = """
    if task == "Apart":
        meet("Apart")
    elif "could not be merged" in prompt:
        meet("Apart")
    else:
        meet("One", "Two")
    """
    here = make_project(
        tmp_path,
        plan,
        agent(MEETS, does, ADDS_ITS_LINE, WORKS),
        **{"shared.txt": "first\n"},
    )
    document = run_plan(here, 0, "--parallel", "2")
    assert set(verdicts(document).values()) == {"done"}
    assert document["iterations"] == 4
    assert_replays(here)


def test_the_limit_of_iterations_counts_those_that_other_workers_begin(tmp_path: Path) -> None:
    plan = "# T\n\n" + "\n".join(f"## {title}\nCheck: `test -f {title.lower()}`\n" for title in ("One", "Two", "Three"))
    here = make_project(tmp_path, plan, "open(task.lower(), 'w').close()")
    document = run_plan(here, 3, "--parallel", "3", "--max-iterations", "1")
    assert (document["iterations"], len(here.calls())) == (1, 1)
    done = here.bridle("resume", "--max-iterations", "3", "--json")
    assert set(verdicts(receipt_of(done, 0)).values()) == {"done"}
    assert_replays(here)


@pytest.mark.without_sandbox("changes what the sandbox protects")
@pytest.mark.parametrize("name", ["PLAN.md", "made"])
def test_what_another_program_changed_in_the_runs_own_copy_stays_or_is_kept(tmp_path: Path, name: str) -> None:
    changes = f"""
    open(os.path.join(os.getcwd().rpartition("-")[0], {name!r}), "a").write("of another program\\n")
    open("made", "w").close()
    """
    here = make_project(tmp_path, "# One\n\n## Make\nCheck: `test -f made`\n", changes)
    done = here.bridle("run", "PLAN.md", "--parallel", "2", "--json")
    document = receipt_of(done, 0)
    assert here.git("show", f"{document['branch']}:made") == ""
    refs = re.findall(r"changed by another program; they are kept as (\S+)", done.stderr)
    if name == "made":  # in the way of the commit
        assert here.git("show", f"{refs[0]}:made") == "of another program"
    else:
        assert refs == []
        assert Path(document["worktree"], name).read_text().endswith("of another program\n")
