"""Plans that other tools run, run by `bridle run` unchanged, from the first prompt to the tick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import receipt_of, verdicts

AGENT = "open(task.split()[-1], 'w').close()"
PRD_MD = "# Shop\n\nSome words.\n\n## Tasks\n- [ ] create auth\n- [ ] add dashboard\n- [x] done task\n"
FIX_PLAN = (
    "# Ralph Fix Plan\n\n## High Priority\n- [ ] create auth\n\n## Low Priority\n- [ ] add dashboard\n\n"
    "## Completed\n- [x] done task\n\n## Notes\n- Build: `npm run build`\n"
)
YAML = (
    "# comment\ntasks:\n  - title: create auth\n    completed: false\n  - title: add dashboard\n    parallel_group: 1\n"
)
PRD_JSON = {
    "name": "Shop",
    "branchName": "ralph/shop",
    "userStories": [
        {"id": "US-1", "title": "create auth", "passes": False, "priority": 2, "dependsOn": ["US-2"], "labels": []},
        {"id": "US-2", "title": "add dashboard", "passes": False, "priority": 1, "notes": ""},
    ],
    "metadata": {"version": "1"},
}
TASKS_JSON = {"tasks": [{"title": "create auth", "completed": False}, {"title": "add dashboard", "completed": False}]}


def done_in(name: str, text: str) -> list[bool]:
    if name.endswith(".md"):
        return [line.startswith("- [x]") for line in text.splitlines() if line.startswith("- [")]
    document = yaml.safe_load(text)
    listed = document.get("userStories") or document["tasks"]
    return [bool(one.get("passes") or one.get("completed")) for one in listed]


@pytest.mark.parametrize(
    ("name", "text", "order"),
    [
        ("PRD.md", PRD_MD, ["create auth", "add dashboard"]),
        (".ralph/fix_plan.md", FIX_PLAN, ["create auth", "add dashboard"]),
        ("tasks.yaml", YAML, ["create auth", "add dashboard"]),
        ("prd.json", json.dumps(PRD_JSON, indent=2), ["add dashboard", "create auth"]),
        ("PRD.json", json.dumps(TASKS_JSON, indent=2), ["create auth", "add dashboard"]),
    ],
)
def test_the_plan_of_another_tool_runs_and_is_ticked(tmp_path: Path, name: str, text: str, order: list[str]) -> None:
    here = make_project(tmp_path / "here", "", AGENT, **{"bridle.toml": 'checks = ["ls auth || ls dashboard"]\n'})
    (here.folder / "PLAN.md").unlink()
    (here.folder / name).parent.mkdir(exist_ok=True)
    (here.folder / name).write_text(text)
    here.git("add", "-A", "-f")
    here.git("commit", "-qm", "plan")
    document = receipt_of(here.bridle("run", name, "--tick", "--json"), 0)
    assert verdicts(document) == dict.fromkeys(order, "done (guard only)")
    assert [call["task"] for call in here.calls()] == order
    assert all(done_in(name, (here.folder / name).read_text()))
    assert "plan_changes" not in json.loads(here.bridle("status", "--json").stdout)
