"""Each row of the table of hostile commands and paths is decided as it says."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.syntax import Rule, parse_rule
from tests.agent.permissions.fixtures.hostile_commands import ALLOW, ASK, COMMANDS, DENY, FILES, FileRow, Row

SOME = ("Bash(git *)", "Bash(npm test)", "Edit")
STRICT = ("Bash(git *)", "Bash(python3 *)")
DENIED = ("Bash(rm *)", "Bash(curl *)", "Bash(git push:*)", "Read(./secrets/**)", "Edit(.github/**)")


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Policy]:
    base = tmp_path_factory.mktemp("hostile").resolve()
    work = base / "work"
    for folder in (work / "src", work / "secrets", work / ".git", base / "outside", base / "home"):
        folder.mkdir(parents=True)
    (work / "notes.txt").write_text("alpha\n")
    (work / "src" / "app.py").write_text("x = 1\n")
    (work / "secrets" / "key").write_text("k\n")
    (base / "outside.txt").write_text("o\n")
    for name, target in {"link": "../outside.txt", "out": "../outside", "loop": "loop", "inner": "src"}.items():
        (work / name).symlink_to(target)
    plain = Policy(cwd=str(work), home=str(base / "home"))
    return {
        "none": plain,
        "some": Policy(cwd=plain.cwd, home=plain.home, allow=rules(*SOME)),
        "strict": Policy(cwd=plain.cwd, home=plain.home, mode="acceptEdits", allow=rules(*STRICT), deny=rules(*DENIED)),
    }


def rules(*texts: str) -> tuple[Rule, ...]:
    found = tuple(parse_rule(text) for text in texts)
    assert None not in found
    return tuple(rule for rule in found if rule is not None)


def word(verdict: Verdict) -> str:
    return {Allowed: ALLOW, NeedsApproval: ASK, Denied: DENY}[type(verdict)]


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.command[:40])
def test_a_command_is_decided_as_the_table_says(row: Row, policies: dict[str, Policy]) -> None:
    decided = {name: word(decide("Bash", {"command": row.command}, policy)) for name, policy in policies.items()}
    assert decided == {"none": row.none, "some": row.some, "strict": row.strict}, row.why


@pytest.mark.parametrize("row", FILES, ids=lambda row: f"{row.tool} {row.path[:40]}")
def test_a_path_is_decided_as_the_table_says(row: FileRow, policies: dict[str, Policy]) -> None:
    cwd = policies["none"].cwd
    above = cwd.rpartition("/")[0]
    arguments = {name: path.replace("@@", above).replace("@", cwd) for name, path in row.arguments.items()}
    decided = {name: word(decide(row.tool, arguments, policy)) for name, policy in policies.items()}
    assert decided == {"none": row.none, "some": row.some, "strict": row.strict}, row.why


def test_the_table_has_no_command_twice_and_every_decision_under_every_set() -> None:
    commands = [row.command for row in COMMANDS]
    assert len(set(commands)) == len(commands)
    for name in ("none", "some", "strict"):
        assert {getattr(row, name) for row in (*COMMANDS, *FILES)} >= {ALLOW, ASK}
    assert DENY in {row.strict for row in COMMANDS}


NEWLINE = "\\\n"


@pytest.mark.parametrize(
    ("command", "allow"),
    [
        ("printf -v 'a[$(./p)]' x", "Bash(printf *)"),
        ("printf -v'a[b]' x", "Bash(printf *)"),
        ("test -v 'a[$(./p)]'", "Bash(test *)"),
        ("git remote-ext x ./p", "Bash(git *)"),
        ("git remote add x ext::./p", "Bash(git *)"),
        ("git config protocol.ext.allow always", "Bash(git *)"),
        ("git config remote.x.vcs y", "Bash(git *)"),
        ("git config --file ../new x.y z", "Bash(git *)"),
        ("git config -f ../new x.y z", "Bash(git *)"),
        ("git checkout-index --prefix=../new/ -a", "Bash(git *)"),
        ("git worktree add ../new", "Bash(git *)"),
        ("tar cf /dev/null --checkpoint-action=exec=./p a", "Bash(tar cf *)"),
        ("tar cIf ./p a.tar a", "Bash(tar *)"),
    ],
)
def test_a_rule_with_a_star_does_not_cover_what_an_argument_runs_or_writes_elsewhere(
    command: str, allow: str, policies: dict[str, Policy]
) -> None:
    plain = policies["none"]
    policy = Policy(cwd=plain.cwd, home=plain.home, allow=rules(allow))
    assert word(decide("Bash", {"command": command}, policy)) == ASK
    for harmless in ("printf '%s' a", "test -v a", "git config user.name x", "git worktree list", "tar cf a.tar src"):
        if harmless.startswith(allow.removeprefix("Bash(").removesuffix(" *)")):
            assert word(decide("Bash", {"command": harmless}, policy)) == ALLOW, harmless


@pytest.mark.parametrize(
    "command",
    [
        "cat ~+/secrets/key",
        f"r{NEWLINE}m a",
        "/bin/r[m] a",
        "git log --format=%s -G^k",
        "git log --format=%s -S k",
        "git checkout-index --prefix=new/ -a",
        "git worktree add new",
        "git unpack-file HEAD:secrets/key",
    ],
)
def test_what_a_rule_denies_is_denied_in_other_forms_and_without_prompts(
    command: str, policies: dict[str, Policy]
) -> None:
    plain = policies["none"]
    policy = Policy(cwd=plain.cwd, home=plain.home, mode="bypassPermissions", deny=rules(*DENIED))
    assert word(decide("Bash", {"command": command}, policy)) == DENY
