"""Decisions in every mode, in the words that programs know, with what would let the call through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.permissions.decide import bypass_refusal, decide
from bridle.agent.permissions.rules.file_access import is_hidden
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, with_mode, with_shell_folder
from bridle.agent.permissions.rules.syntax import Rule, parse_rule

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "notes.txt").write_text("alpha\n")
    return folder


def rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in map(parse_rule, texts) if rule is not None)


def policy_for(
    work: Path, *allow: str, mode: str = "default", deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()
) -> Policy:
    home = str(work.parent / "home")
    return Policy(cwd=str(work), home=home, mode=mode, allow=rules(*allow), deny=rules(*deny), ask=rules(*ask))


def asks(tool: str, arguments: dict[str, Any], policy: Policy) -> NeedsApproval:
    verdict = decide(tool, arguments, policy)
    assert isinstance(verdict, NeedsApproval), verdict
    return verdict


@pytest.mark.parametrize(
    ("tool", "subject", "reason", "advice"),
    [
        ("Write", "@/a", "Claude requested permissions to write to @/a, but you haven't granted it yet.", "Edit(/@/a)"),
        ("Read", "/x", "Claude requested permissions to read from /x, but you haven't granted it yet.", "Read(//x)"),
        (
            "Edit",
            "@/.bashrc",
            "Claude requested permissions to edit @/.bashrc which is a sensitive file.",
            "Edit(/@/.b",
        ),
        ("Bash", "touch a", "touch in '@/a' was blocked.% create or modify files in&", "Bash(touch a *)"),
        ("Bash", "rm a", "rm in '@/a' was blocked.% remove files from&", "Bash(rm a *)"),
        ("Bash", "cat /x", "cat in '/x' was blocked.% concatenate files from&", "Read(//x)"),
        ("Bash", "ls > a", "Output redirection to '@/a' was blocked.% write to files in&", "Edit(/@/a)"),
        ("Bash", "git push", "This command requires approval", "Bash(git push *)"),
        ("Bash", "touch a; ls; rm b", "#parts require approval: touch a, rm b", "'Bash(touch a *)' 'Bash(rm b *)'"),
        ("Bash", "ls; make", "#part requires approval: make", "Bash(make)"),
        ("Bash", "touch a; echo $X", "Contains simple_expansion", "--allowedTools Bash."),
        ("Bash", "eval ls", "'eval' evaluates arguments as shell code", "Bash(eval ls)"),
        ("mcp__x", "", "Claude requested permissions to use mcp__x, but you haven't granted it yet.", "'mcp__x'"),
    ],
)
def test_the_known_words_come_first_and_the_missing_rule_after_them(
    tool: str, subject: str, reason: str, advice: str, work: Path
) -> None:
    words = {
        "%": " For security, Claude Code may only",
        "&": " the allowed working directories for this session: '@'.",
        "#": "This Bash command contains multiple operations. The following ",
    }
    for sign, text in words.items():
        reason = reason.replace(sign, text)
    subject, reason, advice = (text.replace("@", str(work)) for text in (subject, reason, advice))
    verdict = asks(tool, {"command": subject, "file_path": subject}, policy_for(work))
    assert verdict.reason == reason
    assert advice in verdict.advice
    assert verdict.text == f"{reason} {verdict.advice}"


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        ("touch a", "default"),
        ("git push", "default"),
        ("cat /etc/x", "default"),
        ("ls > a", "default"),
        ("FOO=1 ls", "default"),
        ("sudo apt install x", "default"),
        ("make", "acceptEdits"),
        ("npm test; git push", "default"),
        ("cp a b", "default"),
    ],
)
def test_with_the_advised_rules_the_command_is_allowed(command: str, mode: str, work: Path) -> None:
    advice = asks("Bash", {"command": command}, policy_for(work, mode=mode)).advice
    advised = advice.partition("--allowedTools ")[2].partition(", or the same")[0]
    allow = [text for text in advised.split("'") if text.strip()]
    assert isinstance(decide("Bash", {"command": command}, policy_for(work, *allow, mode=mode)), Allowed)


def test_an_advice_that_would_be_long_or_unreadable_names_no_rule(work: Path) -> None:
    for command in ("make " + "x" * 300, "make 'a\nb'"):
        assert asks("Bash", {"command": command}, policy_for(work)).advice.startswith("To allow it, add a rule with")


def test_a_denial_by_a_rule_says_so_and_counts(work: Path) -> None:
    policy = policy_for(work, "Bash", deny=("Bash(rm *)", "WebFetch", "mcp__a", "Skill(x)"))
    assert decide("Bash", {"command": "ls && rm x"}, policy) == Denied(
        "Permission to use Bash with command ls && rm x has been denied."
    )
    assert decide("WebFetch", {"url": "http://x"}, policy) == Denied("Permission to use WebFetch has been denied.")
    assert decide("mcp__a__b", {}, policy) == Denied("Permission to use mcp__a__b has been denied.")
    assert isinstance(decide("Skill", {"skill": "x"}, policy), Denied)
    assert isinstance(decide("Skill", {"skill": "y"}, policy), Allowed)


def test_a_file_that_a_rule_forbids_is_a_wrong_call_and_does_not_count(work: Path) -> None:
    policy = policy_for(work, deny=("Read(./secrets/**)", "Edit(src)"))
    expected = Denied(
        "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
        is_listed=False,
    )
    assert decide("Read", {"file_path": "secrets/a"}, policy) == expected
    assert decide("Write", {"file_path": "src/a"}, policy) == expected
    assert decide("Grep", {"path": "secrets"}, policy) == Denied("Permission to read secrets has been denied.")
    assert isinstance(decide("Write", {"file_path": "secrets/a"}, with_mode(policy, "acceptEdits")), Allowed)


def test_a_search_must_not_show_what_a_rule_hides(work: Path) -> None:
    policy = policy_for(work, deny=("Read(secrets/**)", "Read(*.key)"))
    shown = ["secrets/a", "a.key", "src/b.key", "a.txt"]
    assert [path for path in shown if is_hidden(path, policy)] == ["secrets/a", "a.key", "src/b.key"]


def test_a_rule_that_wants_to_be_asked_wins_over_one_that_allows_and_over_every_mode(work: Path) -> None:
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        policy = policy_for(work, "Bash", "Write", mode=mode, ask=("Bash(git push:*)", "Write", "Read(./notes.txt)"))
        first = "Claude requested permissions to {}, but you haven't granted it yet."
        assert asks("Bash", {"command": "ls; git push"}, policy).reason == first.format("use Bash")
        assert asks("Write", {"file_path": "a"}, policy).reason == first.format("use Write")
        assert asks("Read", {"file_path": "notes.txt"}, policy).reason == first.format("read from notes.txt")
        assert isinstance(decide("Bash", {"command": "git status"}, policy), Allowed)


def test_in_dont_ask_mode_no_user_is_asked(work: Path) -> None:
    policy = policy_for(work, "Bash(make)", mode="dontAsk")
    verdict = decide("Bash", {"command": "touch a"}, policy)
    assert isinstance(verdict, Denied)
    first = "Permission to use Bash has been denied because Claude Code is running in don't ask mode."
    assert verdict.text.startswith(first)
    assert "Bash(touch a *)" in verdict.text
    assert isinstance(decide("Bash", {"command": "make; ls"}, policy), Allowed)
    assert isinstance(decide("Write", {"file_path": "a"}, policy), Denied)


def test_in_plan_mode_tools_write_nothing(work: Path) -> None:
    policy = policy_for(work, "Write", "Bash(make)", mode="plan")
    assert asks("Write", {"file_path": "a"}, policy).reason == "Cannot write to a while in plan mode."
    assert isinstance(decide("Read", {"file_path": "a"}, policy), Allowed)
    assert isinstance(decide("Bash", {"command": "ls"}, policy), Allowed)
    assert isinstance(decide("Bash", {"command": "make"}, policy), NeedsApproval)
    assert isinstance(decide("Bash", {"command": "touch a"}, policy), NeedsApproval)


def test_when_permissions_are_bypassed_only_rules_count(work: Path) -> None:
    policy = policy_for(work, mode="bypassPermissions", deny=("Bash(rm *)",))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": "curl x | sh"}),
        ("Bash", {"command": "$X 'unclosed"}),
        ("Write", {"file_path": ".git/config"}),
        ("Read", {"file_path": "/etc/passwd"}),
        ("mcp__a__b", {}),
    ]
    assert [call for call in calls if not isinstance(decide(*call, policy), Allowed)] == []
    assert isinstance(decide("Bash", {"command": "sh -c 'rm x'"}, policy), Denied)


@pytest.mark.parametrize("mode", ["acceptEdits", "auto"])
def test_edits_are_accepted_in_the_working_folders_only(mode: str, work: Path) -> None:
    policy = Policy(cwd=str(work), home="/h", mode=mode, folders=(str(work.parent / "more"),))
    inside = [("Write", "a"), ("Edit", "src/a"), ("NotebookEdit", "n"), ("Write", str(work.parent / "more" / "a"))]
    outside = [
        ("Write", "../a"),
        ("Write", ".git/a"),
        ("Edit", ".claude/settings.json"),
        ("Write", str(work.parent / "other")),
    ]

    def accepted(tool: str, path: str) -> bool:
        return isinstance(decide(tool, {"file_path": path, "notebook_path": path}, policy), Allowed)

    assert [call for call in inside if not accepted(*call)] == []
    assert [call for call in outside if accepted(*call)] == []
    assert isinstance(decide("Bash", {"command": "touch a; mkdir b; rm c; mv d e; cp f g"}, policy), Allowed)
    assert isinstance(decide("WebFetch", {"url": "http://x"}, policy), NeedsApproval)


def test_a_protected_file_is_changed_only_by_a_rule_that_names_it(work: Path) -> None:
    call = {"file_path": str(work / ".claude" / "settings.json")}
    for allow in ("Write", "Edit", "Edit(**)", f"Edit(/{work}/**)"):
        assert isinstance(decide("Write", call, policy_for(work, allow, mode="acceptEdits")), NeedsApproval)
    for allow in ("Edit(.claude/**)", f"Edit(/{work}/.claude/settings.json)"):
        assert isinstance(decide("Write", call, policy_for(work, allow)), Allowed)


@pytest.mark.parametrize(
    ("rule", "url", "is_allowed"),
    [
        ("WebFetch(domain:x.org)", "https://x.org/a", True),
        ("WebFetch(domain:x.org)", "https://X.ORG.:8080/a", True),
        ("WebFetch(domain:x.org)", "https://a.x.org/", False),
        ("WebFetch(domain:*.x.org)", "https://a.x.org/", True),
        ("WebFetch(domain:*.x.org)", "https://ax.org/", False),
        ("WebFetch(domain:x.org)", "https://x.org@evil.org/", False),
        ("WebFetch(domain:x.org)", "https://evil.org/x.org", False),
        ("WebFetch(domain:x.org)", "https://evil.org\\@x.org/", False),
        ("WebFetch(domain:x.org)", "https://x.org\t.evil.org/", False),
        ("WebFetch(domain:)", "nonsense", False),
        ("WebFetch(x.org)", "https://x.org/", False),
        ("WebFetch", "https://anything/", True),
    ],
)
def test_a_domain_is_the_host_of_the_address_and_nothing_else(
    rule: str, url: str, is_allowed: bool, work: Path
) -> None:
    assert isinstance(decide("WebFetch", {"url": url}, policy_for(work, rule)), Allowed) == is_allowed


def test_names_of_old_mean_the_tools_of_today(work: Path) -> None:
    policy = policy_for(work, deny=("Task(Explore)", "KillShell"))
    denied = decide("Agent", {"subagent_type": "Explore"}, policy)
    assert denied == Denied(
        "Agent type 'Explore' has been denied by permission rule 'Agent(Explore)' from cliArg.", is_listed=False
    )
    assert isinstance(decide("Task", {"subagent_type": "Explore"}, policy), Denied)
    assert isinstance(decide("TaskStop", {}, policy), Denied)
    assert isinstance(decide("Task", {"subagent_type": "other"}, policy), Allowed)


def test_what_changes_nothing_outside_needs_no_permission(work: Path) -> None:
    for tool in ("TodoWrite", "TaskCreate", "TaskOutput", "Skill", "StructuredOutput", "Agent"):
        assert isinstance(decide(tool, {}, policy_for(work)), Allowed)


@pytest.mark.parametrize("tool", ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"])
def test_what_only_the_user_can_answer_needs_the_user_whatever_rules_and_mode_allow(tool: str, work: Path) -> None:
    bypassed = with_mode(policy_for(work, tool), "bypassPermissions")
    assert isinstance(decide(tool, {}, bypassed), NeedsApproval)
    assert isinstance(decide(tool, {}, with_mode(bypassed, "dontAsk")), Denied)
    assert isinstance(decide(tool, {}, policy_for(work, deny=(tool,))), Denied)


def test_relative_paths_of_a_command_start_where_the_shell_is(work: Path) -> None:
    policy = policy_for(work)
    assert isinstance(decide("Bash", {"command": "cat ../notes.txt"}, policy), NeedsApproval)
    assert isinstance(
        decide("Bash", {"command": "cat ../notes.txt"}, with_shell_folder(policy, str(work / "src"))), Allowed
    )
    assert isinstance(
        decide("Bash", {"command": "cat ../../x"}, with_shell_folder(policy, str(work / "src"))), NeedsApproval
    )


def test_git_is_not_trusted_in_a_folder_that_looks_like_a_repository(work: Path) -> None:
    policy = policy_for(work, "Bash(git *)")
    assert isinstance(decide("Bash", {"command": "git status"}, policy_for(work)), Allowed)
    assert isinstance(decide("Bash", {"command": "git -C src status"}, policy), Allowed)
    for name in ("objects", "refs"):
        (work / "src" / name).mkdir()
    (work / "src" / "HEAD").write_text("ref: refs/heads/main\n")
    assert isinstance(decide("Bash", {"command": "git -C src status"}, policy), NeedsApproval)
    assert isinstance(
        decide("Bash", {"command": "git status"}, with_shell_folder(policy_for(work), str(work / "src"))), NeedsApproval
    )


def test_a_wildcard_that_an_option_hides_behind_is_not_followed(work: Path) -> None:
    assert isinstance(decide("Bash", {"command": "sort *.txt"}, policy_for(work)), Allowed)
    (work / "-o.txt").write_text("")
    assert isinstance(decide("Bash", {"command": "sort *.txt"}, policy_for(work)), NeedsApproval)
    assert isinstance(decide("Bash", {"command": "sort ./*.txt"}, policy_for(work)), Allowed)


def test_a_search_that_follows_links_is_allowed_while_no_link_leads_out(work: Path) -> None:
    commands = ["grep -R x .", "grep -Rn x src", "rg -L x", "find -L . -name x", "find . -follow", "diff src ."]

    def allowed() -> list[str]:
        return [
            command
            for command in commands
            if isinstance(decide("Bash", {"command": command}, policy_for(work)), Allowed)
        ]

    assert allowed() == commands
    (work / "src" / "inner").symlink_to(work / "notes.txt")
    assert allowed() == commands
    (work / "src" / "out").symlink_to(work.parent)
    assert allowed() == []
    assert isinstance(decide("Bash", {"command": "grep -r x ."}, policy_for(work)), Allowed)


def test_where_the_shell_is_outside_nothing_is_read_without_a_rule(work: Path) -> None:
    policy = with_shell_folder(policy_for(work, "Bash(make)"), str(work.parent))
    assert isinstance(decide("Bash", {"command": "ls"}, policy), NeedsApproval)
    assert isinstance(decide("Bash", {"command": "make"}, policy), Allowed)


def test_the_target_of_a_copy_is_looked_at_below_a_folder_too(work: Path) -> None:
    policy = policy_for(work, mode="acceptEdits")
    assert isinstance(decide("Bash", {"command": "cp notes.txt src"}, policy), Allowed)
    (work / "src" / "notes.txt").symlink_to(work.parent / "outside")
    assert isinstance(decide("Bash", {"command": "cp notes.txt src"}, policy), NeedsApproval)


@pytest.mark.parametrize("rule", ["rm *", "rm:*", "rm -rf *"])
def test_no_pattern_allows_to_remove_the_ground_one_stands_on(rule: str, work: Path) -> None:
    policy = policy_for(work, f"Bash({rule})")
    assert isinstance(decide("Bash", {"command": "rm -rf build"}, policy), Allowed)
    for target in ("/", "~", ".", "..", "*", "./*", "/etc", "/*", str(work)):
        assert isinstance(decide("Bash", {"command": f"rm -rf {target}"}, policy), NeedsApproval), target


@pytest.mark.parametrize(
    ("rule", "command", "is_allowed"),
    [
        ("sudo apt *", "sudo apt install x", True),
        ("sudo *", "sudo apt install x", False),
        ("xargs grep *", "ls | xargs grep x", True),
        ("xargs *", "ls | xargs rm", False),
        ("xargs -n 1 *", "ls | xargs -n 1 rm", False),
        ("timeout 5 make *", "timeout 5 make x", True),
        ("timeout 5 *", "timeout 5 make x", False),
        ("sh *", "sh -c 'rm x'", False),
        ("sh -c *", "sh -c 'rm x'", False),
        ("sh build.sh *", "sh build.sh x", True),
        ("env *", "env rm x", False),
        ("find *", "find . -delete", False),
        ("find *", "find . -name x", True),
        ("find . -delete", "find . -delete", True),
        ("eval *", "eval rm x", False),
        ("git -c core.pager=cat *", "git -c core.pager=cat log", True),
        ("git *", "git -c core.pager=cat log", False),
        ("FOO=1 make *", "FOO=1 make x", True),
        ("make *", "FOO=1 make x", False),
        ("make *", "CI=1 make x", True),
        ("export *", "export PATH=.", False),
        ("export *", "export LANG=C x=1", True),
        ("export PATH=. *", "export PATH=.", True),
    ],
)
def test_a_rule_for_a_wrapper_must_name_what_is_run(rule: str, command: str, is_allowed: bool, work: Path) -> None:
    assert isinstance(decide("Bash", {"command": command}, policy_for(work, f"Bash({rule})")), Allowed) == is_allowed


def test_a_rule_that_is_the_whole_text_allows_it_whatever_it_is(work: Path) -> None:
    command = "for f in *; do echo $f; done"
    assert isinstance(decide("Bash", {"command": command}, policy_for(work, f"Bash({command})")), NeedsApproval)
    command = "echo $X & make"
    assert isinstance(decide("Bash", {"command": f" {command}\n"}, policy_for(work, f"Bash({command})")), Allowed)


def test_a_host_is_shown_what_would_let_a_call_through(work: Path) -> None:
    touch = asks("Bash", {"command": "touch zzz"}, policy_for(work))
    assert touch.blocked_path == f"{work}/zzz"
    assert list(touch.suggestions) == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "touch zzz *"}],
            "behavior": "allow",
            "destination": "localSettings",
        },
        {"type": "addDirectories", "directories": [str(work)], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]
    write = asks("Write", {"file_path": str(work / "a")}, policy_for(work))
    assert write.blocked_path is None
    assert list(write.suggestions) == [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    read = asks("Read", {"file_path": "/etc/hostname"}, policy_for(work))
    rule = {"toolName": "Read", "ruleContent": "//etc/**"}
    expected = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    assert (read.blocked_path, list(read.suggestions)) == ("/etc/hostname", [expected])
    assert asks("Bash", {"command": "echo $X"}, policy_for(work)).suggestions == ()


def test_bypassing_as_root_is_refused_outside_a_sandbox() -> None:
    text = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
    flag = "--dangerously-skip-permissions"
    assert bypass_refusal({}, 0, flag) == text
    assert bypass_refusal({"IS_SANDBOX": "0"}, 0, flag) == text
    assert bypass_refusal({"IS_SANDBOX": "1"}, 0, flag) is None
    assert bypass_refusal({}, 1000, flag) is None


def test_deciding_about_files_loads_no_grammar_and_no_table() -> None:
    code = (
        "import sys, json as _; del sys.modules['json']\n"
        "from bridle.agent.permissions.decide import decide\n"
        "from bridle.agent.permissions.rules.policy import Policy\n"
        "from bridle.agent.permissions.rules.syntax import Rule\n"
        "import bridle.agent.settings.load_settings, bridle.agent.permissions.offered_tools\n"
        "policy = Policy(cwd='/w', home='/h', allow=(Rule('Bash', None),))\n"
        "decide('Read', {'file_path': 'x'}, policy); decide('Bash', {'command': 'x'}, policy)\n"
        "heavy = ('tree_sitter', 'tree_sitter_bash', 'json', 'urllib.request', 'asyncio', 'subprocess', 'difflib')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "decide('Bash', {'command': 'ls -la'}, Policy(cwd='/w', home='/h'))\n"
        "print('tree_sitter' in sys.modules)\n"
        "decide('Bash', {'command': 'ls | wc'}, Policy(cwd='/w', home='/h'))\n"
        "print('tree_sitter' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert done.stdout.splitlines() == ["[]", "False", "True"]


def test_decisions_and_their_values_can_be_written_down(work: Path) -> None:
    verdict = asks("Bash", {"command": "touch zzz"}, policy_for(work))
    assert json.loads(json.dumps(list(verdict.suggestions))) == list(verdict.suggestions)


@pytest.mark.parametrize(
    "command", ["git log *", "git log [-]*", "git grep *", "git grep x *", "sort *", "printf [-]* x"]
)
def test_a_wildcard_that_means_an_option_is_asked_for(command: str, work: Path) -> None:
    policy = policy_for(work)
    (work / "--output=evil").touch()
    asks("Bash", {"command": command}, policy)


def test_a_wildcard_that_means_files_alone_is_allowed_for_git(work: Path) -> None:
    assert isinstance(decide("Bash", {"command": "git log -- *.txt"}, policy_for(work)), Allowed)
