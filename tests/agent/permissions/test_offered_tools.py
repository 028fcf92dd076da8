"""Which tools a model is offered, as the real program was seen to do it."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.offered_tools import offered
from bridle.agent.permissions.rules.syntax import Rule, parse_rule

KNOWN = ("Agent", "AskUserQuestion", "Bash", "Edit", "Glob", "Grep", "Read", "Skill", "TaskOutput", "TaskStop", "Write")
USUAL = ("Agent", "Bash", "Edit", "Read", "Skill", "TaskOutput", "TaskStop", "Write")
WITH_SEARCH = ("Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Skill", "TaskOutput", "TaskStop", "Write")


def rules(*texts: str) -> list[Rule]:
    return [rule for rule in map(parse_rule, texts) if rule is not None]


@pytest.mark.parametrize(
    ("tools", "allowed", "denied", "names"),
    [
        (None, [], [], USUAL),
        (["default"], [], [], USUAL),
        ([], [], [], ()),
        (["Bash", "Read"], [], [], ("Bash", "Read")),
        (["Read", "Bash", "Nope"], [], [], ("Bash", "Read")),
        (["Task", "BashOutput", "KillShell"], [], [], ("Agent", "TaskOutput", "TaskStop")),
        (["default", "Glob"], [], [], ("Glob",)),
        (None, ["Glob"], [], WITH_SEARCH),
        (None, ["Grep(x)"], [], WITH_SEARCH),
        (["default"], ["Grep"], [], WITH_SEARCH),
        (["Read"], ["Grep"], [], ("Read",)),
        (None, [], ["Bash", "Bash(git *)"], tuple(name for name in WITH_SEARCH if name != "Bash")),
        (None, [], ["Bash(*)"], tuple(name for name in WITH_SEARCH if name != "Bash")),
        (None, [], ["Bash(rm *)"], USUAL),
        (None, [], ["Task", "Edit"], tuple(name for name in USUAL if name not in ("Agent", "Edit"))),
        (["Read"], [], ["Read"], ()),
        (None, [], ["*"], ()),
    ],
)
def test_flags_and_rules_choose_the_tools(
    tools: list[str] | None, allowed: list[str], denied: list[str], names: tuple[str, ...]
) -> None:
    assert offered(KNOWN, tools=tools, allowed=rules(*allowed), denied=rules(*denied)) == names


def test_what_needs_an_answer_is_offered_only_with_a_user_to_answer() -> None:
    assert "AskUserQuestion" in offered(KNOWN, has_host=True)
    assert "AskUserQuestion" not in offered(KNOWN, tools=["AskUserQuestion"])
