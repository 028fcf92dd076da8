"""What holds for every command and every call, whatever it is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import MODES, Allowed, Denied, NeedsApproval, Policy
from bridle.agent.permissions.rules.syntax import Rule
from tests.agent.permissions.fixtures.random_shell import COMMANDS

ALLOW = (Rule("Bash", "git *"), Rule("Bash", "npm test"), Rule("Edit", "src/**"))
DENY = (Rule("Bash", "rm *"), Rule("Read", "secrets/**"), Rule("Edit", ".github/**"))
POLICY = Policy(cwd="/nowhere/work", home="/nowhere/home", allow=ALLOW)
STRICT = Policy(cwd="/nowhere/work", home="/nowhere/home", mode="acceptEdits", allow=(Rule("Bash", None),), deny=DENY)
JOINTS = st.sampled_from([" && ", "; ", ";", " || ", " | ", "\n", " & ", " |& ", "\n\n", " &&\n"])
PLAIN = st.sampled_from(
    [
        "git log",
        "git commit -m 'a b'",
        "npm test",
        "ls",
        "echo a",
        "cat x",
        "(git log)",
        "LANG=C git log",
        "git log # x",
        "if true; then ls; fi",
        "env git log",
        "sh -c 'git log'",
        "cat <<'E'\nx\nE",
        "f() { ls; }; f",
        "git log 2>&1",
    ]
)
LETTERS = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz0123456789./-_"), min_size=1, max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
TOOLS = [
    "Agent",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Skill",
    "Task",
    "WebFetch",
    "WebSearch",
    "Write",
]


def is_allowed(command: str, policy: Policy = POLICY) -> bool:
    return isinstance(decide("Bash", {"command": command}, policy), Allowed)


@given(command=PLAIN, joint=JOINTS, more=st.sampled_from(["rm x", "evil", "/bin/sh x", "$X", "PATH=. ls"]))
def test_an_allowed_command_with_another_behind_it_is_no_longer_allowed(command: str, joint: str, more: str) -> None:
    assert is_allowed(command)
    if "#" not in command or "\n" in joint:
        assert not is_allowed(f"{command}{joint}{more}")


@given(command=COMMANDS, joint=JOINTS)
def test_a_forbidden_command_in_front_is_never_hidden_by_what_follows(command: str, joint: str) -> None:
    assert not is_allowed(f"rm x{joint}{command}")
    assert isinstance(decide("Bash", {"command": f"rm x{joint}{command}"}, STRICT), Denied)


@given(words=st.lists(LETTERS, min_size=1, max_size=5), data=st.data())
def test_quoting_does_not_change_the_decision(words: list[str], data: st.DataObject) -> None:
    command = (
        data.draw(st.sampled_from([["git"], ["npm", "test"], ["ls"], ["cat"], ["rm"], ["touch"], ["sh", "-c"]])) + words
    )
    quoted = [_quoted(word, data) for word in command]
    for policy in (POLICY, STRICT):
        expected = decide("Bash", {"command": " ".join(command)}, policy)
        assert type(decide("Bash", {"command": " ".join(quoted)}, policy)) is type(expected)


def _quoted(word: str, data: st.DataObject) -> str:
    style = data.draw(st.sampled_from(["bare", "single", "double", "backslash", "mixed"]))
    if style == "single":
        return f"'{word}'"
    if style == "double":
        return f'"{word}"'
    if style == "backslash":
        return "".join(f"\\{letter}" for letter in word)
    if style == "mixed":
        return f"{word[:1]}''\"{word[1:2]}\"{word[2:]}"
    return word


@given(command=COMMANDS)
def test_what_needs_no_rule_is_allowed_with_more_rules_too(command: str) -> None:
    bare = Policy(cwd=POLICY.cwd, home=POLICY.home)
    if is_allowed(command, bare):
        assert is_allowed(command)


@given(command=COMMANDS)
def test_a_mode_never_turns_a_denial_into_a_permission(command: str) -> None:
    for mode in MODES:
        policy = Policy(cwd=POLICY.cwd, home=POLICY.home, mode=mode, deny=DENY)
        if isinstance(decide("Bash", {"command": command}, STRICT), Denied):
            assert isinstance(decide("Bash", {"command": command}, policy), Denied)


@given(command=st.one_of(st.text(), st.binary().map(lambda data: data.decode("latin-1")), COMMANDS))
def test_no_command_makes_a_decision_fail(command: str) -> None:
    for policy in (POLICY, STRICT):
        assert isinstance(decide("Bash", {"command": command}, policy), Allowed | NeedsApproval | Denied)


@given(tool=st.sampled_from(TOOLS) | st.text(), arguments=st.dictionaries(st.text(), VALUES, max_size=3), value=VALUES)
def test_no_arguments_make_a_decision_fail(tool: str, arguments: dict[str, Any], value: Any) -> None:
    for name in ("command", "file_path", "path", "notebook_path", "url", "skill", "subagent_type"):
        for policy in (POLICY, STRICT):
            assert isinstance(decide(tool, {**arguments, name: value}, policy), Allowed | NeedsApproval | Denied)
