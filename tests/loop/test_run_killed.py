"""A run of which everything is killed, again and again: it goes on at the same place, and nothing is done twice."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.sandbox import write_user_settings
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.random_kills import ANY, OFTEN, SELDOM, JournalWatch, KilledRun
from tests.sizes import SIZES

# The same moments again, as far as the machine allows: LOOP_SEED=123 make test ARGS=tests/loop/test_run_killed.py
SEED = "LOOP_SEED"
TITLES = [f"Task {n}" for n in range(1, SIZES.loop_tasks + 1)]
# Every fourth has a check of its own, and so has the second, which is red at first; three others break the second's.
CHECKED = {title for n, title in enumerate(TITLES, 1) if n % 4 == 0 or n == 2}
PLAN = "# Many\n\nChecks: `true`\n\n" + "\n".join(
    f"## {title}\n" + (f"Check: `grep -q whole '{title}'`\n" if title in CHECKED else "Make it.\n") for title in TITLES
)
# Half a file, and then all of it: a moment at which it can be killed lies in between. Each task has a price of its own.
AGENT = r"""#!/bin/sh
read -r line
task=${line#*'## Task\n\n**'}
task=${task%%'**'*}
session='"session_id":"10f6d3c2-0000-4000-8000-000000000001"'
echo '{"type":"system","subtype":"init",'$session',"cwd":"'"$PWD"'","tools":[],"model":"claude-sonnet-4-5",
"permissionMode":"default","apiKeySource":"none","claude_code_version":"2.1.197"}' | tr -d '\n'
echo
echo half >> "$task"
case $task in
    'Task 2') if [ "$(grep -c half 'Task 2')" -gt 1 ]; then echo whole >> 'Task 2'; fi ;;
    'Task 3' | 'Task 7' | 'Task 11') if [ ! -e "BESIDE/$task" ]; then rm -f 'Task 2'; fi; echo whole >> "$task" ;;
    *) echo whole >> "$task" ;;
esac
: > "BESIDE/$task"
echo '{"type":"result","subtype":"success",'$session',"is_error":false,"result":"done","num_turns":1,"duration_ms":1,
"usage":{"input_tokens":10,"output_tokens":2},"permission_denials":[],"total_cost_usd":0.00'$((100 + ${task#Task }))',
"structured_output":{"summary":"It is there.","done":true,"question":"","patterns":[]}}' | tr -d '\n'
echo
"""


def test_a_run_that_is_killed_again_and_again_does_every_task_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10**6))
    print(f"{SEED}={seed}")  # noqa: T201  # pytest shows it with whatever goes wrong
    chance = random.Random(seed)  # noqa: S311  # moments of kills are no secret
    here = _place(tmp_path)
    killed = KilledRun(here, chance, JournalWatch(here.folder / ".a5c/runs"))
    targets = [OFTEN[n % len(OFTEN)] for n in range(SIZES.loop_kills)]
    chance.shuffle(targets)
    for n, target in enumerate(targets):
        is_hurried = len(TITLES) - killed.journal.commits < (len(targets) - n) / 2
        is_struck = killed.kill_during(ANY if is_hurried else target)
        assert is_struck, f"the run ended after {n} kills, {SEED}={seed}:\n{killed.last_output()}"
    last = killed.start()
    assert last.wait(LIMIT_SECONDS + 10 * len(TITLES)) == 0, f"{SEED}={seed}:\n{killed.last_output()}"
    counted = Counter(killed.killed_during)
    shown = ", ".join(f"{kind.removeprefix('bridle.')} {number}" for kind, number in counted.most_common())
    record_property(
        "count", f"{len(killed.killed_during)} kills of a run of {len(TITLES)} tasks ({shown}), {SEED}={seed}"
    )
    _judge(here, f"{SEED}={seed}")
    assert len(killed.killed_during) == SIZES.loop_kills, f"{SEED}={seed}"
    assert set(counted) == {*OFTEN, *SELDOM}, f"{SEED}={seed}: {counted}"


def _place(folder: Path) -> Project:
    here = make_project(folder, PLAN, "", **{"bridle.toml": "summarize_every = 100000\n"})
    write_user_settings("max_iterations = 100000\n")
    (here.agent_folder / "claude").write_text(AGENT.replace("BESIDE", str(here.agent_folder)))
    (here.folder / "mine.txt").write_text("of the person")
    return here


def _judge(here: Project, seed: str) -> None:
    """Every task is done, by one commit of its own, and what is recorded agrees with what is there."""
    done = here.bridle("status", "--json")
    assert done.returncode == 0, (seed, done.stdout[-3000:], done.stderr[-3000:])
    document = json.loads(done.stdout)
    verdicts = {task["title"]: task["verdict"] for task in document["tasks"]}
    assert verdicts == {title: "done" if title in CHECKED else "done (guard only)" for title in TITLES}, seed
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").splitlines() == TITLES, seed
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"], seed
    for title, commit in zip(TITLES, document["commits"], strict=True):
        assert here.git("show", "--name-only", "--format=", commit) == title, seed
    _judge_costs(here, document, seed)
    assert here.git("status", "--porcelain") == "?? mine.txt", seed
    assert (here.folder / "mine.txt").read_text() == "of the person"
    for command in ("replay", "audit"):
        said = here.bridle(command, "last")
        assert said.returncode == 0, (seed, command, said.stdout, said.stderr)


def _judge_costs(here: Project, document: dict[str, object], seed: str) -> None:
    """Whatever an agent said that it cost is counted once: also that of agents whose Bridle did not survive them."""
    paid: dict[str, float] = dict.fromkeys(TITLES, 0.0)
    for log in (here.folder / ".ralph/logs/claude").glob("*.ndjson"):
        for line in log.read_text().splitlines():
            if '"total_cost_usd"' in line:
                number = log.name.split("-Task-")[1].split(".")[0].split("-")[0]
                paid[f"Task {number}"] += json.loads(line)["total_cost_usd"]
    tasks = document["tasks"]
    assert isinstance(tasks, list)
    assert {task["title"]: task["cost_usd"] for task in tasks} == pytest.approx(paid), seed
    assert document["cost_usd"] == pytest.approx(sum(paid.values())), seed
    budget = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    assert budget["total_cost_usd"] == pytest.approx(sum(paid.values())), seed
    trailers = here.git("log", "--reverse", "--format=%(trailers:key=Bridle-Cost,valueonly)", "main..HEAD").split("\n")
    said = [float(line.removesuffix(" USD")) for line in trailers if line]
    assert said == pytest.approx([task["cost_usd"] for task in tasks], abs=0.00006), seed
