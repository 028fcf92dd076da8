"""What a person sees of a run, word for word: lines while it goes on, and the receipt. Agents of every bad kind, and
repositories of every ordinary one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridle.loop.protection.repairs import MAY_EDIT
from tests.loop.fixtures.fake_agent import Project, make_project

pytestmark = pytest.mark.xdist_group("people")  # one rough day for all of them

ROUGH = {
    "Limited": "test -f limited",
    "Honest": "test -f honest",
    "Liar": "test -f liar",
    "Looper": "test -f looper",
    "Editor": "sh editor.sh",
    "Deleter": "sh deleter.sh",
    "Asker": "test -f asker",
    "Hanger": "test -f hanger",
    "Breaker": "test -f breaker",
    "Last": "test -f last",
}
PLAN = "# A rough day\n\n" + "\n".join(f"## {title}\nCheck: `{check}`\n" for title, check in ROUGH.items())
PLAN = PLAN.replace("## Last\n", "## Last\nNeeds: Liar\n")
AGENT = """
is_first = sum(json.loads(line)["task"] == task for line in open(calls)) == 1
if task == "Limited" and is_first:
    show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
    end("success", True, "You've hit your limit")
if task == "Liar":
    end(structured_output=answer)
if task == "Looper":
    open("wrong", "w").close()
    end(structured_output=answer | {"done": False})
if task == "Editor" and is_first:
    open("editor.sh", "w").write("true\\n")
    end(structured_output=answer)
if task == "Deleter":
    os.remove("deleter.sh")
    os.remove("mine.txt")
if task == "Asker":
    end(structured_output=answer | {"done": False, "question": "Which colour?"})
if task == "Hanger":
    open("half", "w").close()
    time.sleep(600)
if task == "Breaker" and is_first:
    os.rename("honest", "breaker")
    end(structured_output=answer)
open(task.lower(), "w").close()
"""
TOML = 'idle_timeout = "1s"\nsummarize_every = 1000\n'


@dataclass(frozen=True)
class Seen:
    """What was printed, with what differs from time to time put into one form."""

    here: Project
    done: subprocess.CompletedProcess[str]

    def lines(self, task: str) -> list[str]:
        """What was said of a task while it was worked on."""
        said = _same(self.done.stderr)
        whole = re.split(r"(?m)^(?=\[)", said)
        return [line.strip() for part in whole if part.startswith(f"[{task}:") for line in part.splitlines()]

    def receipt(self, task: str) -> list[str]:
        """What the receipt says of a task."""
        said = _same(self.done.stdout)
        [part] = [part for part in re.split(r"(?m)^(?=  \S |$)", said) if part[4:].startswith(task)]
        return [" ".join(line.split()) for line in part.splitlines() if "agent time" not in line]

    def ways(self) -> list[str]:
        """How the receipt ends."""
        return [" ".join(line.split()) for line in _same(self.done.stdout).rstrip().split("\n\n")[-1].splitlines()]


def _same(text: str) -> str:
    text = re.sub(r"\b\d+\.\d s\b", "N s", text)
    text = re.sub(r"\b[0-9a-f]{10}\b", "COMMIT", text)
    text = re.sub(r"\b01[0-9A-Z]{24}\b", "ID", text)
    text = re.sub(r"\bbridle/01[0-9a-z]{24}\b", "BRANCH", text)
    text = re.sub(r"refs/bridle/snapshots/\S+", "REF", text)
    text = re.sub(r"(until|resets) \w{3} \d\d \w{3} \d\d:\d\d:\d\d \S+", r"\1 THEN", text)
    return re.sub(r"\[\d+/\d+\] ", "[", text)


@pytest.fixture(scope="module")
def rough(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """One run in which agents of every bad kind are at work."""
    files = {"editor.sh": "test -f editor\n", "deleter.sh": "test -f deleter\n", "bridle.toml": TOML}
    here = make_project(tmp_path_factory.mktemp("rough"), PLAN, AGENT, **files)
    (here.folder / "mine.txt").write_text("mine")
    other = shutil.copy(here.agent_folder / "claude", here.agent_folder / "other")
    return Seen(here, here.bridle("run", "--agent", "claude,bridle-agent", BRIDLE_BRIDLE_AGENT=str(other)))


def test_the_whole_is_reported_in_the_first_line_and_how_to_go_on_in_the_last(rough: Seen) -> None:
    assert rough.done.returncode == 4, rough.done.stderr
    assert rough.done.stdout.splitlines()[0] == "! PLAN.md: 5 of 10 tasks verified (needs you)"
    assert rough.ways() == [
        "branch BRANCH (5 commits)",
        "review git log --stat main..BRANCH",
        "merge git checkout main && git merge BRANCH",
        "undo bridle undo ID",
        "resume bridle resume ID",
    ]
    assert rough.here.git("log", "--reverse", "--format=%s", "main..").split() == [
        *("Limited", "Honest", "Editor", "Deleter", "Breaker"),
    ]
    assert rough.here.git("status", "--porcelain") == "?? mine.txt"
    for command in ("replay", "audit"):
        assert rough.here.bridle(command).returncode == 0


def test_at_a_usage_limit_the_next_agent_takes_over(rough: Seen) -> None:
    assert rough.lines("Limited") == [
        "[Limited: iteration 1 (claude)",
        "usage limit reached, resets THEN (0.0100 USD, N s)",
        "[Limited: iteration 2 (bridle-agent)",
        "reports done: I did Limited (0.0100 USD, N s)",
        "check passed: test -f limited (N s)",
        "committed COMMIT",
    ]
    assert rough.receipt("Limited") == [
        "✓ Limited done 2 iterations 0.0200 USD",
        "COMMIT test -f limited passed in N s",
    ]


def test_an_agent_that_lies_is_found_out_by_the_checks(rough: Seen) -> None:
    once = [
        "reports done: I did Liar (0.0100 USD, N s, no changes)",
        "check failed (1): test -f liar (N s)",
        "checks of other tasks passed: 2 (N s)",
    ]
    assert rough.lines("Liar") == [
        *("[Liar: iteration 1 (bridle-agent)", *once),
        *("[Liar: iteration 2 (bridle-agent)", *once),
        *("[Liar: iteration 3 (bridle-agent)", *once),
        "reverted: the same failure 3 times without a new change: 1 of 3 checks failed: test -f liar",
        "kept as REF",
    ]
    assert rough.receipt("Liar") == [
        "✗ Liar stuck 3 iterations 0.0300 USD",
        "the same failure 3 times without a new change: 1 of 3 checks failed: test -f liar",
        "✗ test -f liar (exit code 1)",
    ]


def test_a_task_that_needs_one_that_did_not_end_well_says_which(rough: Seen) -> None:
    assert rough.lines("Last") == []
    [head, why] = rough.receipt("Last")
    assert head == "· Last blocked"
    assert "Liar" in why


def test_an_agent_that_loops_without_a_change_is_stopped(rough: Seen) -> None:
    assert rough.lines("Looper")[:3] == [
        "[Looper: iteration 1 (bridle-agent)",
        "finished: I did Looper (0.0100 USD, N s)",
        "check failed (1): test -f looper (N s)",
    ]
    assert rough.lines("Looper")[-3:] == [
        "finished: I did Looper (0.0100 USD, N s, no changes)",
        "reverted: the same failure 3 times without a new change: the agent changed nothing",
        "kept as REF",
    ]
    [head, *why, check] = rough.receipt("Looper")
    assert re.fullmatch(r"✗ Looper stuck [34] iterations 0.0[34]00 USD", head)
    reason = "the same failure 3 times without a new change: the agent changed nothing; its work is kept as REF"
    assert " ".join(why) == reason
    assert check == "✗ test -f looper (exit code 1)"
    assert not (rough.here.folder / "wrong").exists()


def test_an_agent_that_edits_the_test_is_reported_and_its_change_is_undone(rough: Seen) -> None:
    assert rough.lines("Editor") == [
        "[Editor: iteration 1 (bridle-agent)",
        "reports done: I did Editor (0.0100 USD, N s)",
        f"restored editor.sh: it was changed, and the check `sh editor.sh` names it; {MAY_EDIT}",
        "kept as REF",
        "check failed (1): sh editor.sh (N s)",
        "checks of other tasks passed: 2 (N s)",
        "[Editor: iteration 2 (bridle-agent)",
        "reports done: I did Editor (0.0100 USD, N s)",
        "check passed: sh editor.sh (N s)",
        "checks of other tasks passed: 2 (N s)",
        "committed COMMIT",
    ]
    assert rough.receipt("Editor") == [
        "✓ Editor done 2 iterations 0.0200 USD",
        "COMMIT sh editor.sh and 2 more passed in N s",
        "restored editor.sh: it is protected (see `May edit:`)",
    ]


def test_an_agent_that_deletes_what_it_should_not_is_reported_and_it_is_there_again(rough: Seen) -> None:
    assert rough.lines("Deleter")[2:4] == [
        f"restored deleter.sh: it was deleted, and the check `sh deleter.sh` names it; {MAY_EDIT}",
        "restored mine.txt: your untracked file was deleted",
    ]
    assert rough.receipt("Deleter") == [
        "✓ Deleter done 1 iteration 0.0100 USD",
        "COMMIT sh deleter.sh and 3 more passed in N s",
        "restored deleter.sh: it is protected (see `May edit:`)",
        "restored mine.txt: it is protected (see `May edit:`)",
    ]
    assert (rough.here.folder / "mine.txt").read_text() == "mine"
    assert rough.here.git("show", "--name-status", "--format=", "HEAD^") == "A\tdeleter"


def test_an_agent_that_asks_is_shown_with_its_question_and_the_command_that_answers(rough: Seen) -> None:
    assert rough.lines("Asker") == [
        "[Asker: iteration 1 (bridle-agent)",
        "question: Which colour? (0.0100 USD, N s)",
    ]
    assert rough.receipt("Asker") == [
        "! Asker needs you 1 iteration 0.0100 USD",
        "question: Which colour?",
        'answer: bridle answer ID "…"',
    ]


def test_an_agent_that_hangs_is_ended_twice_and_its_work_reverted(rough: Seen) -> None:
    ended = "it was stopped because it printed nothing for `idle_timeout`"
    assert rough.lines("Hanger") == [
        *("[Hanger: iteration 1 (bridle-agent)", f"agent crashed: {ended} (0.0000 USD, N s)"),
        *("[Hanger: iteration 2 (bridle-agent)", f"agent crashed: {ended} (0.0000 USD, N s)"),
        f"reverted: the agent crashed 2 times: {ended}",
        "kept as REF",
    ]
    shown = rough.receipt("Hanger")
    assert shown[0] == "✗ Hanger failed 2 iterations 0.0000 USD"
    assert " ".join(shown[1:]).startswith(f"the agent crashed 2 times: {ended}; its work is kept as REF")
    assert not (rough.here.folder / "half").exists()


def test_an_agent_that_breaks_another_tasks_check_is_reported_and_its_work_reverted(rough: Seen) -> None:
    assert rough.lines("Breaker") == [
        "[Breaker: iteration 1 (bridle-agent)",
        "reports done: I did Breaker (0.0100 USD, N s)",
        "check passed: test -f breaker (N s)",
        "check of 'Honest' failed (1): test -f honest (N s)",
        "checks of other tasks passed: 3 (N s)",
        "reverted: it broke the checks of Honest",
        "kept as REF",
        "[Breaker: iteration 2 (bridle-agent)",
        "reports done: I did Breaker (0.0100 USD, N s)",
        "check passed: test -f breaker (N s)",
        "checks of other tasks passed: 4 (N s)",
        "committed COMMIT",
    ]
    assert rough.receipt("Breaker")[0] == "✓ Breaker done 2 iterations 0.0200 USD"


# Ordinary repositories


def worked(folder: Path, plan: str, agent: str, **files: str) -> Seen:
    """A run in a repository, to its good end."""
    here = make_project(folder, plan, agent, **files)
    seen = Seen(here, here.bridle("run"))
    assert seen.done.returncode == 0, (seen.done.stdout, seen.done.stderr)
    return seen


def test_a_green_repository_with_a_guard_for_the_whole_plan(tmp_path: Path) -> None:
    plan = "# Work\n\nChecks: `make test`\n\n## One\nMake one.\n"
    makefile = "test:\n\t@echo all is well\n"
    seen = worked(tmp_path, plan, "open('one', 'w').close()", Makefile=makefile)
    assert seen.lines("One") == [
        "[One: iteration 1 (claude)",
        "reports done: I did One (0.0100 USD, N s)",
        "check passed: make test (N s)",
        "committed COMMIT",
    ]
    assert seen.receipt("One") == [
        "✓ One done (guard only) 1 iteration 0.0100 USD",
        "the guard passed",
        "COMMIT make test passed in N s",
    ]


def test_an_npm_repository_whose_checks_need_its_modules(tmp_path: Path) -> None:
    """Its modules are ignored, and are there for the checks all the same; a forgotten one is named by what npm says."""
    package = {"name": "a", "version": "1.0.0", "scripts": {"test": "node test.js"}}
    test = "const dep = require('dep');\nif (dep() !== require('./one.js')) { throw new Error('they differ'); }\n"
    here = make_project(
        tmp_path,
        "# Work\n\n## One\nCheck: `npm test --silent`\n",
        "open('one.js', 'w').write(f'module.exports = {number};\\n')",
        **{"package.json": json.dumps(package), "test.js": test, ".gitignore": "node_modules\n"},
    )
    (here.folder / "node_modules/dep").mkdir(parents=True)
    (here.folder / "node_modules/dep/index.js").write_text("module.exports = () => 2;\n")
    seen = Seen(here, here.bridle("run"))
    assert seen.done.returncode == 0, seen.done.stderr
    lines = seen.lines("One")
    first, again = lines.index("check failed (1): npm test --silent (N s)"), lines.index("[One: iteration 2 (claude)")
    printed = lines[first + 1 : again]  # what failed, and where all of it is
    assert any("they differ" in line for line in printed)
    assert printed[-1].startswith("whole output: .ralph/logs/checks/")
    assert [*lines[: first + 1], *lines[again:]] == [
        "[One: iteration 1 (claude)",
        "reports done: I did One (0.0100 USD, N s)",
        "check failed (1): npm test --silent (N s)",
        "[One: iteration 2 (claude)",
        "reports done: I did One (0.0100 USD, N s)",
        "check passed: npm test --silent (N s)",
        "committed COMMIT",
    ]
    assert "they differ" in here.calls()[1]["prompt"]
    assert seen.receipt("One") == [
        "✓ One done 2 iterations 0.0200 USD",
        "COMMIT npm test --silent passed in N s",
    ]
    assert here.git("show", "--name-only", "--format=", "HEAD") == "one.js"


@pytest.mark.parametrize(
    ("directives", "verdict"),
    [
        ("Check: `grep -q test_sub tests/test_add.py`\nMay edit: tests/test_add.py\n", "done"),
        ("", "done (guard only)"),
    ],
    ids=["the check names it, and it may be edited", "the guard runs all tests"],
)
def test_a_task_that_must_extend_an_existing_test_file(tmp_path: Path, directives: str, verdict: str) -> None:
    plan = (
        f"# Work\n\nChecks: `python3 -m unittest discover -s tests -t .`\n\n## One\nTest and write `sub`.\n{directives}"
    )
    test = (
        "import unittest\n\nimport add\n\n\nclass Add(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add.add(1, 2), 3)\n"
    )
    agent = """
    open("tests/test_add.py", "a").write(
        "\\n    def test_sub(self):\\n        self.assertEqual(add.sub(3, 2), 1)\\n")
    if number == 2:
        open("add.py", "a").write("\\n\\ndef sub(a, b):\\n    return a - b\\n")
    """
    code = "def add(a, b):\n    return a + b\n"
    seen = worked(
        tmp_path,
        plan,
        agent,
        **{"add.py": code, "tests/__init__.py": "", "tests/test_add.py": test, ".gitignore": "__pycache__\n"},
    )
    assert not [line for line in seen.lines("One") if "undone" in line]
    assert "has no attribute 'sub'" in seen.here.calls()[1]["prompt"]
    assert seen.here.git("show", "--name-only", "--format=", "HEAD").split() == ["add.py", "tests/test_add.py"]
    assert seen.receipt("One")[0] == f"✓ One {verdict} 2 iterations 0.0200 USD"


def test_a_task_that_takes_three_red_iterations(tmp_path: Path) -> None:
    plan = "# Work\n\n## One\nCheck: `test $(wc -l < one) -eq 4`\n"
    seen = worked(tmp_path, plan, "open('one', 'a').write('x\\n')")
    red = [
        "reports done: I did One (0.0100 USD, N s)",
        "check failed (1): test $(wc -l < one) -eq 4 (N s)",
    ]
    assert seen.lines("One") == [
        *("[One: iteration 1 (claude)", *red),
        *("[One: iteration 2 (claude)", *red),
        *("[One: iteration 3 (claude)", *red),
        "[One: iteration 4 (claude)",
        "reports done: I did One (0.0100 USD, N s)",
        "check passed: test $(wc -l < one) -eq 4 (N s)",
        "committed COMMIT",
    ]
    assert seen.receipt("One") == [
        "✓ One done 4 iterations 0.0400 USD",
        "COMMIT test $(wc -l < one) -eq 4 passed in N s",
    ]
    assert "0.0100 USD for verified iterations, 0.0300 USD wasted" in seen.done.stdout
