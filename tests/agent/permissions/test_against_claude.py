"""Our decisions beside those of the real Claude Code: where they agree, in its words; where they do not, why."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy
from bridle.agent.permissions.rules.syntax import parse_rule
from tests.real.fixtures.claude_on_stage import LIMIT_SECONDS, scene
from tests.real.fixtures.installed_programs import claude_program

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Answer:
    """What became of one command."""

    is_allowed: bool
    text: str


AGREED = {
    (): (
        "ls",
        "ls -la src",
        "echo hi",
        "echo *.txt",
        "echo $HOME",
        "cat notes.txt",
        "cat *.txt",
        "pwd",
        "git status",
        "git diff",
        "git branch",
        "git stash list",
        "git remote -v",
        "grep -r alpha .",
        "find . -name x",
        "sed -n 1p notes.txt",
        "sort notes.txt",
        "wc -l notes.txt",
        "ls; pwd",
        "ls && pwd",
        "ls | head -1",
        "ls 2>&1",
        "echo hi > /dev/null",
        "cat < notes.txt",
        "LANG=C ls",
        "command ls",
        "if true; then ls; fi",
        "for f in a b; do echo hi; done",
        "[ -f notes.txt ]",
        "[[ -f notes.txt ]]",
        "l''s",
        "\\ls",
        "ls # comment",
        "ls \\\n-la",
        "cat <<'E'\nhi\nE",
        "cat <<< hi",
        "cd . && git status",
        "which ls",
        "date +%s",
        "touch a",
        "mkdir a",
        "rm a",
        "mv a b",
        "cp a b",
        "sed -i s/a/b/ notes.txt",
        "echo hi > a",
        "echo hi > /etc/zz",
        "cat /etc/hostname",
        "ls /etc",
        "head /etc/hostname",
        "grep x /etc/hostname",
        "find /etc -name x",
        "ls ~",
        "cd /etc",
        "git branch a",
        "git push",
        "git diff --output=a",
        "git -c core.pager=cat log",
        "git config --list",
        "npm test",
        "make",
        "rg --pre cat x",
        "sort -o a notes.txt",
        "find . -delete",
        "find . -exec ls {} \\;",
        "awk 1 notes.txt",
        "python3 -c 1",
        "echo $X",
        'echo "$X"',
        "echo ${HOME}",
        "echo $(ls)",
        "echo `ls`",
        "echo {a,b}",
        "echo $'a'",
        "cat <(ls)",
        "cat <<E\n$X\nE",
        "ls & pwd",
        "cd src && git status",
        "FOO=1 ls",
        "LD_PRELOAD=x ls",
        "env",
        "sudo ls",
        "xargs cat",
        "eval ls",
        "source x",
        "touch a; ls",
        "ls; touch a; rm b",
        "touch a; echo $X",
        "ls; make",
        "/bin/ls",
        "./ls",
        "date -s 2020-01-01",
        "hostname x",
    ),
    ("--allowedTools", "Bash(git *)", "Bash(npm run test:*)"): (
        "git",
        "git branch a",
        "g''it branch a",
        "git branch a; git branch b",
        "git branch a\ngit branch b",
        "git branch 'a;b'",
        "timeout 5 git branch a",
        "nice git branch a",
        "nohup git branch a",
        "LANG=C git branch a",
        "git branch a || true",
        "git commit -m \"$(cat <<'EOF'\nx (y)\nEOF\n)\"",
        "git branch a 2>&1",
        "[[ -f x ]] && git branch a",
        "gitk",
        "/usr/bin/git branch a",
        "git branch a && touch b",
        "git branch $X",
        "git $X",
        "git branch $(ls)",
        "git branch a > b",
        "FOO=1 git branch a",
        "GIT_SSH_COMMAND=x git branch a",
        "sudo git branch a",
        "git branch a &",
        "cd src && git branch a",
        "git branch a | xargs rm",
        "git branch a | sh",
        "npm run test:unit",
        "find . -exec git branch a \\;",
        "git branch {a,b}",
    ),
}
# Each with what the real one does; ours is the other.
DIFFERENT = {
    (): {
        "(ls)": False,  # a subshell is seen through
        "{ ls; }": False,
        "f() { ls; }; f": False,
        "case a in a) ls;; esac": False,
        "env ls": False,  # wrappers are seen through
        "timeout 5 ls": False,
        "sh -c ls": False,
        "cat src/../notes.txt": False,  # inside in the end
        "cat <<E\nhi\nE": False,  # nothing in it is expanded
        "echo a\\ b": False,  # an escaped space is known to the letter
        "tac /etc/hostname": True,  # reads outside
        "git diff /etc/hostname /etc/passwd": True,  # reads outside
        "ls |": True,  # not a command
    },
    ("--allowedTools", "Bash(git *)"): {
        "env git branch a": False,  # wrappers are seen through
        "sh -c 'git branch a'": False,
        "(git branch a)": False,
        "git -c alias.x=!ls x": True,  # runs a program that no rule names
        "git branch a < /etc/hostname": True,  # reads outside
        "xargs git branch": True,  # arguments that nobody saw
    },
    ("--allowedTools", "Bash", "--disallowedTools", "Bash(rm *)"): {
        "/bin/rm x": True,  # the same program
        "sh -c 'rm x'": True,
        "(rm x)": True,
        "{ rm x; }": True,
        "echo $(rm x)": True,
        "eval rm x": True,
        "$(echo rm) x": True,
        "for i in rm; do $i x; done": True,
        "f() { rm x; }; f": True,
    },
}


def real_answers(folder: Path, commands: list[str], flags: tuple[str, ...]) -> tuple[Path, list[Answer]]:
    """What the real one makes of each command, one after the other; those that it allows really run."""
    calls = [
        {"type": "tool_use", "name": "Bash", "input": {"command": c}, "id": f"t{n}"} for n, c in enumerate(commands)
    ]
    with scene(folder, *({"blocks": [_escaped(call)]} for call in calls), {"blocks": ["done"]}) as place:
        (place.workspace / "src").mkdir()
        (place.workspace / "notes.txt").write_text("alpha\n")
        argv = [str(claude_program()), "-p", "go", "--output-format", "stream-json", "--verbose", *flags]
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=place.workspace,
            env=place.environment(),
            timeout=LIMIT_SECONDS,
            check=True,
        )
        events = [json.loads(line) for line in done.stdout.splitlines()]
    denied = {denial["tool_use_id"] for denial in events[-1]["permission_denials"]}
    blocks = [block for event in events if event["type"] == "user" for block in event["message"]["content"]]
    texts = {block["tool_use_id"]: str(block["content"]) for block in blocks if block["type"] == "tool_result"}
    return place.workspace, [Answer(f"t{n}" not in denied, texts[f"t{n}"]) for n in range(len(commands))]


def _escaped(call: Mapping[str, object]) -> dict[str, object]:
    """`${` is a place for a captured value to the stage."""
    return json.loads(json.dumps(call).replace("${", "$${"))  # type: ignore[no-any-return]  # what json gives back


def our_answer(command: str, workspace: Path, flags: tuple[str, ...]) -> Answer:
    lists: dict[str, list[str]] = {"--allowedTools": [], "--disallowedTools": []}
    current = ""
    for flag in flags:
        current = flag if flag in lists else current
        if flag not in lists:
            lists[current].append(flag)
    allow, deny = (tuple(rule for rule in map(parse_rule, texts) if rule) for texts in lists.values())
    home = workspace.parent / "home"
    verdict = decide("Bash", {"command": command}, Policy(cwd=str(workspace), home=str(home), allow=allow, deny=deny))
    text = verdict.reason if isinstance(verdict, NeedsApproval) else verdict.text if isinstance(verdict, Denied) else ""
    return Answer(isinstance(verdict, Allowed), text)


@pytest.mark.parametrize("flags", AGREED, ids=["no rules", "rules"])
def test_commands_are_decided_as_the_real_one_decides_them_and_reported_in_its_words(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    commands = list(AGREED[flags])
    workspace, answers = real_answers(tmp_path, commands, flags)
    ours = [our_answer(command, workspace, flags) for command in commands]
    other = {
        command: (real, our)
        for command, real, our in zip(commands, answers, ours, strict=True)
        if real.is_allowed != our.is_allowed or (not real.is_allowed and real.text != our.text)
    }
    assert other == {}


@pytest.mark.parametrize("flags", DIFFERENT, ids=["no rules", "rules", "a rule that forbids"])
def test_commands_that_are_decided_in_another_way_still_are(flags: tuple[str, ...], tmp_path: Path) -> None:
    commands = DIFFERENT[flags]
    workspace, answers = real_answers(tmp_path, list(commands), flags)
    assert {command: answer.is_allowed for command, answer in zip(commands, answers, strict=True)} == commands
    ours = {command: our_answer(command, workspace, flags).is_allowed for command in commands}
    assert ours == {command: not is_allowed for command, is_allowed in commands.items()}
