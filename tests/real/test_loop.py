"""The plan of the demo with the real Claude Code: the same four tasks, and what happens at a real usage limit."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.demo.demo_script import script
from bridle.cli.demo.sample import FILES, PLAN
from tests.real.fixtures.claude_on_stage import KEY, Answer, Asked, Scene, scene

pytestmark = pytest.mark.real

TITLES = ["Prices as people write them", "Count what is in the basket", "Rebates", "Print the slip"]
# With a login in place of a key, Claude Code makes a usage limit of these headers; nobody checks the token.
LOGIN = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy-4f1e9c77a2"}


@contextlib.contextmanager
def till(folder: Path, *before: Answer, tasks: int = len(TITLES)) -> Iterator[Scene]:
    """The sample repository with the first tasks of its plan, and the demo's script; these answers come before all."""
    played = script(folder / "workspace")
    answers = played["conversations"][0]["answers"]
    answers[:0] = before
    with scene(folder, **played) as set_up:
        head, *sections = PLAN.split("\n## ")
        plan = "\n## ".join((head, *sections[:tasks]))
        for name, text in {**FILES, "PLAN.md": plan}.items():
            path = set_up.workspace / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        git(set_up, "add", "--all")
        git(set_up, "commit", "-q", "-m", "A till")
        git(set_up, "branch", "-q", "start")
        yield set_up


def git(set_up: Scene, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    done = subprocess.run(
        ["git", *identity, *words], cwd=set_up.workspace, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def usage_limit(resets_at: int) -> Answer:
    """What the endpoint says to an account whose five hours are used up."""
    unified = "anthropic-ratelimit-unified"
    return {
        "kind": "error",
        "status": 429,
        "message": "This request would exceed your account's rate limit. Please try again later.",
        "headers": {
            f"{unified}-status": "rejected",
            f"{unified}-reset": str(resets_at),
            f"{unified}-representative-claim": "five_hour",
            f"{unified}-overage-status": "rejected",
        },
    }


def is_done(set_up: Scene, done: Asked, *, tasks: int = len(TITLES)) -> dict[str, Any]:
    """All tasks are verified, with a commit each, and what is recorded agrees; nobody was asked for more."""
    assert done.exit_code == 0, done.stderr
    assert set_up.stage.problems == ()
    refused = [one.answer for one in set_up.stage.requests if (one.answer or "").endswith("otherwise")]
    assert refused == []
    document: dict[str, Any] = done.document
    assert {task["title"]: task["verdict"] for task in document["tasks"]} == dict.fromkeys(TITLES[:tasks], "done")
    assert git(set_up, "log", "--reverse", "--format=%s", "start..HEAD").splitlines() == TITLES[:tasks]
    assert git(set_up, "rev-list", "--reverse", "start..HEAD").split() == document["commits"]
    assert git(set_up, "status", "--porcelain") == ""
    asked = len(set_up.bodies())
    for command in ("replay", "audit"):
        said = set_up.bridle(command, "last")
        assert said.exit_code == 0, (command, said.stdout, said.stderr)
    assert len(set_up.bodies()) == asked, "nobody was asked anything"
    return document


def test_the_plan_of_the_demo_is_done_by_the_real_claude_code(tmp_path: Path) -> None:
    with till(tmp_path) as set_up:
        done = set_up.bridle("run", "PLAN.md", "--json")
        document = is_done(set_up, done)
        tries = {task["title"]: (task["iterations"], task["tries"]) for task in document["tasks"]}
        assert tries == {title: (2, 1) if title == "Rebates" else (1, 0) for title in TITLES}
        trailers = git(set_up, "log", "-1", "--format=%(trailers:unfold)", document["commits"][2]).splitlines()
        cost = document["tasks"][2]["cost_usd"]
        assert re.fullmatch(r"Bridle-Journal: \d+ sha256:[0-9a-f]{64}", trailers.pop())
        assert trailers == [
            f"Bridle-Run: {document['run']}",
            "Bridle-Task: Rebates",
            "Bridle-Iteration: 2",
            f"Bridle-Cost: {cost:.4f} USD",
            "Bridle-Checks: 4 passed",
        ]
        assert document["cost_usd"] == pytest.approx(sum(task["cost_usd"] for task in document["tasks"]))
        assert 0 < document["wasted_usd"] < cost
        receipt = set_up.bridle("status").stdout
    assert "✓ PLAN.md: 4 of 4 tasks verified" in receipt
    said = done.stderr
    assert "agent claude (" in said
    order = [
        said.index("check failed (1): python3 -m unittest tests/test_rebate.py"),
        said.index("Rebates: iteration 2 (claude)"),
        said.index("check passed: python3 -m unittest tests/test_rebate.py"),
    ]
    assert order == sorted(order)
    kept = [path for path in (set_up.workspace / ".a5c").rglob("*") if path.is_file()]
    assert KEY.encode() not in b"".join(path.read_bytes() for path in kept)


def test_at_a_real_usage_limit_our_own_agent_takes_over_and_no_try_is_counted(tmp_path: Path) -> None:
    with till(tmp_path, usage_limit(int(time.time()) + 3600), tasks=2) as set_up:
        agents = ("--agent", "claude,bridle-agent")
        done = set_up.bridle("run", "PLAN.md", *agents, "--reasoning", "low", "--json", **LOGIN)
        document = is_done(set_up, done, tasks=2)
        assert {body["output_config"]["effort"] for body in set_up.bodies()} == {"low"}
    first = document["tasks"][0]
    assert (first["iterations"], first["tries"]) == (2, 0)
    said = done.stderr
    assert "usage limit reached, resets " in said
    assert f"{TITLES[0]}: iteration 1 (claude)" in said
    assert f"{TITLES[0]}: iteration 2 (bridle-agent)" in said
    assert said.count("(claude)") == 1
    [log] = [path for path in (set_up.workspace / ".ralph/logs/claude").glob("*.ndjson") if _is_limited(path)]
    assert "Prices" in log.name


def test_a_real_usage_limit_is_waited_for_until_its_reset(tmp_path: Path) -> None:
    resets_at = int(time.time()) + 15  # a busy machine needs some of it to come to the first request
    with till(tmp_path, usage_limit(resets_at), tasks=1) as set_up:
        done = set_up.bridle("run", "PLAN.md", "--json", **LOGIN)
        document = is_done(set_up, done, tasks=1)
        asked = [request for request in set_up.stage.requests if request.path == "/v1/messages"]
    assert (document["tasks"][0]["iterations"], document["tasks"][0]["tries"]) == (2, 0)
    said = done.stderr
    order = [
        said.index("iteration 1 (claude)"),
        said.index("You've hit your limit"),
        said.index("bridle: waiting until "),
        said.index("iteration 2 (claude)"),
    ]
    assert order == sorted(order)
    limited, next_one = asked[:2]
    assert limited.answer == "conversations[0].answers[0]"
    assert next_one.time >= resets_at > limited.time


def _is_limited(log: Path) -> bool:
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return any(one["type"] == "rate_limit_event" and one["rate_limit_info"]["status"] == "rejected" for one in events)
