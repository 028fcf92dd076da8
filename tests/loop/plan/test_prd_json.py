"""The files of other tools: stories that share a title, and lists of `tasks`. More is in tests/scenarios/plans."""

from __future__ import annotations

import json

from bridle.loop.plan.prd_json import parse_prd, tick_prd

# What the skill of ralph-tui writes, with members that only it reads.
RALPH_TUI = {
    "name": "Shop",
    "branchName": "ralph/shop",
    "description": "A shop.",
    "userStories": [
        {
            "id": "US-001",
            "title": "Add tests",
            "description": "As a user …",
            "acceptanceCriteria": ["one", "pnpm lint passes"],
            "priority": 1,
            "passes": False,
            "notes": "",
            "labels": ["a"],
            "dependsOn": [],
        },
        {"id": "US-002", "title": "Add tests", "priority": 2, "passes": False, "dependsOn": ["US-001"]},
        {"id": "US-003", "title": "Done", "passes": True, "completionNotes": "it was easy"},
    ],
    "metadata": {"updatedAt": "2026-01-01T00:00:00Z", "sourcePrd": "prd.md"},
}


def test_the_file_of_another_tool_runs_unchanged_though_two_stories_share_a_title() -> None:
    plan = parse_prd(json.dumps(RALPH_TUI), "prd.json")
    assert [task.title for task in plan.tasks] == ["Add tests (US-001)", "Add tests (US-002)"]
    assert plan.tasks[1].needs == ("Add tests (US-001)",)
    ticked, changed = tick_prd(json.dumps(RALPH_TUI), ["Add tests (US-002)"])
    assert changed == ["Add tests (US-002)"]
    assert [story["passes"] for story in json.loads(ticked)["userStories"]] == [False, True, True]


def test_a_list_of_tasks_is_read_and_ticked_as_another_tool_writes_it() -> None:
    text = json.dumps(
        {"tasks": [{"title": "create auth", "completed": False, "parallel_group": 1, "description": "d"}]}
    )
    [task] = parse_prd(text, "PRD.json").tasks
    assert (task.title, task.body) == ("create auth", "d")
    ticked, changed = tick_prd(text, ["create auth"])
    assert changed == ["create auth"]
    assert json.loads(ticked)["tasks"][0]["completed"] is True
