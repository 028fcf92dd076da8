"""Reading and changing a file is allowed by rules, by the working folders and by the mode, and else asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.file_access import denial, is_hidden, judge_file, may_change, may_read
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, in_worktree
from bridle.agent.permissions.rules.syntax import Rule, parse_rule


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "secrets").mkdir()
    return folder


def rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in map(parse_rule, texts) if rule is not None)


def policy(
    work: Path,
    *,
    mode: str = "default",
    allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
) -> Policy:
    home = str(work.parent / "home")
    return Policy(cwd=str(work), home=home, mode=mode, allow=rules(*allow), deny=rules(*deny), ask=rules(*ask))


def judged(work: Path, tool: str, path: object, **fields: Any) -> type:
    argument = {"Glob": "path", "Grep": "path", "NotebookEdit": "notebook_path"}.get(tool, "file_path")
    return type(judge_file(tool, {argument: path}, policy(work, **fields)))


@pytest.mark.parametrize(
    ("tool", "path", "mode", "verdict"),
    [
        ("Read", "src/a", "default", Allowed),
        ("Read", "/etc/passwd", "default", NeedsApproval),
        ("Read", "../x", "default", NeedsApproval),
        ("Read", "/etc/passwd", "bypassPermissions", Allowed),
        ("Glob", "", "default", Allowed),
        ("Grep", "/etc", "default", NeedsApproval),
        ("Write", "src/a", "default", NeedsApproval),
        ("Write", "src/a", "acceptEdits", Allowed),
        ("Write", "/etc/x", "acceptEdits", NeedsApproval),
        ("Write", "src/a", "plan", NeedsApproval),
        ("Edit", ".git/config", "acceptEdits", NeedsApproval),
        ("Edit", ".bashrc", "acceptEdits", NeedsApproval),
        ("NotebookEdit", "a.ipynb", "acceptEdits", Allowed),
        ("Write", ".git/config", "bypassPermissions", Allowed),
        ("Read", "", "default", NeedsApproval),
        ("Read", None, "bypassPermissions", NeedsApproval),
        ("Write", 3, "acceptEdits", NeedsApproval),
        ("Read", "a\0b", "default", NeedsApproval),
    ],
)
def test_the_mode_and_the_working_folders_decide_without_rules(
    work: Path, tool: str, path: object, mode: str, verdict: type
) -> None:
    assert judged(work, tool, path, mode=mode) is verdict


@pytest.mark.parametrize(
    ("rule", "tool", "path", "verdict"),
    [
        ("Read(//etc/**)", "Read", "/etc/passwd", Allowed),
        ("Read(//etc/**)", "Grep", "/etc/passwd", Allowed),
        ("Read(//etc/**)", "Read", "/var/x", NeedsApproval),
        ("Edit(src/**)", "Write", "src/a", Allowed),
        ("Edit(src/**)", "Write", "src/../b", NeedsApproval),
        ("Edit(src/**)", "NotebookEdit", "src/a.ipynb", Allowed),
        ("Write", "Write", "/anywhere/x", Allowed),
        ("Write", "Edit", "src/a", NeedsApproval),
        ("Edit", "Edit", ".git/config", NeedsApproval),
        ("Edit(**)", "Edit", ".git/config", NeedsApproval),
        ("Edit(.git/**)", "Edit", ".git/config", Allowed),
    ],
)
def test_a_rule_allows_what_it_names_and_protected_files_only_by_name(
    work: Path, rule: str, tool: str, path: str, verdict: type
) -> None:
    assert judged(work, tool, path, allow=(rule,)) is verdict


def test_a_denial_goes_before_everything(work: Path) -> None:
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        assert judged(work, "Read", "secrets/key", mode=mode, allow=("Read",), deny=("Read(secrets/**)",)) is Denied
    assert judged(work, "Grep", "secrets", deny=("Read(secrets/**)",)) is Denied
    assert judged(work, "Grep", ".", deny=("Read(secrets/**)",)) is Allowed
    assert judged(work, "Write", "src/a", mode="acceptEdits", deny=("Edit(src/**)",)) is Denied


def test_a_denial_is_not_evaded_by_a_link(work: Path) -> None:
    (work / "link").symlink_to("secrets")
    assert judged(work, "Read", "link/key", deny=("Read(secrets/**)",)) is Denied


def test_an_ask_rule_goes_before_an_allow_rule_and_names_itself(work: Path) -> None:
    verdict = judge_file("Read", {"file_path": "src/a"}, policy(work, allow=("Read",), ask=("Read(src/**)",)))
    assert isinstance(verdict, NeedsApproval)
    assert verdict.kind == "rule"
    assert "Read(src/**)" in verdict.advice


def test_a_file_of_a_denied_folder_is_hidden_from_searches(work: Path) -> None:
    denied = policy(work, deny=("Read(secrets/**)", "Edit(src/**)"))
    assert is_hidden("secrets/key", denied)
    assert is_hidden(str(work / "src/../secrets/key"), denied)
    assert not is_hidden("src/a", denied)
    assert is_hidden("a\0b", denied)
    assert not is_hidden("src/a", policy(work, deny=("Read", "Read(secrets/**)"))), (
        "a rule without a path names no file"
    )
    assert not is_hidden("secrets/key", policy(work))


def test_a_command_needs_a_pattern_where_a_tool_needs_none(work: Path) -> None:
    path = str(work / "src" / "a")
    assert may_change(path, policy(work, allow=("Edit",))) is None
    assert may_change(path, policy(work, allow=("Edit(src/**)",))) == "rule Edit(src/**)"
    assert may_change(path, policy(work, mode="acceptEdits")) == "mode acceptEdits"
    assert may_read(path, policy(work))
    assert not may_read("/etc/passwd", policy(work, allow=("Read",)))
    assert may_read("/etc/passwd", policy(work, allow=("Read(//etc/*)",)))


def test_a_folder_is_denied_if_everything_below_it_is(work: Path) -> None:
    denied = policy(work, deny=("Read(secrets/**)",))
    assert denial(str(work / "secrets"), denied, tool="Grep") is not None
    assert denial(str(work), denied, tool="Grep") is None


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep"])
@pytest.mark.parametrize("mode", ["default", "plan", "bypassPermissions"])
def test_a_loop_of_links_is_an_error_of_the_path_and_no_denial(work: Path, tool: str, mode: str) -> None:
    (work / "loop").symlink_to("pool")
    (work / "pool").symlink_to("loop")
    for path in ("loop", "loop/below", str(work / "pool")):
        argument = {"Glob": "path", "Grep": "path", "NotebookEdit": "notebook_path"}.get(tool, "file_path")
        verdict = judge_file(tool, {argument: path, "pattern": "*"}, policy(work, mode=mode))
        assert isinstance(verdict, Denied)
        assert not verdict.is_listed
        assert f"ELOOP: too many symbolic links encountered, statx '{work / path}'" in verdict.text


def in_a_worktree(work: Path, **fields: Any) -> Policy:
    worktree = work / ".claude/worktrees/a"
    worktree.mkdir(parents=True, exist_ok=True)
    return in_worktree(policy(work, **fields), str(worktree), str(work))


def test_an_agent_in_a_worktree_changes_its_own_files_and_none_of_the_working_copy(work: Path) -> None:
    for fields in ({"mode": "acceptEdits"}, {"allow": ("Write",)}, {"mode": "bypassPermissions"}):
        current = in_a_worktree(work, **fields)
        for path, kind in (("src/a", Allowed), (f"{work}/src/a", Denied), (f"{work}/.claude/worktrees/b/a", Denied)):
            assert type(judge_file("Write", {"file_path": path}, current)) is kind, (fields, path)
    inside = judge_file("Write", {"file_path": ".git/config"}, in_a_worktree(work, mode="acceptEdits"))
    assert isinstance(inside, NeedsApproval)


def test_deny_rules_hold_in_a_worktree_and_in_the_working_copy(work: Path) -> None:
    current = in_a_worktree(work, deny=("Read(./secrets/**)",), allow=("Read",))
    for path in ("secrets/a", f"{work}/secrets/a"):
        assert isinstance(judge_file("Read", {"file_path": path}, current), Denied)
        command = decide("Bash", {"command": f"cat {path}"}, current)
        assert isinstance(command, Denied), path
    assert isinstance(judge_file("Read", {"file_path": f"{work}/src/a"}, current), Allowed)
