"""What is allowed: modes, rules and settings."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import Answer, Scenario, calls, prompt, says

W = "<workspace>"


def touch(name: str) -> Answer:
    return calls("Bash", command=f"touch {name}")


# The same wishes under each mode.
WISHES = (
    calls("Bash", command="ls"),
    calls("Read", file_path=f"{W}/here.txt"),
    calls("Read", file_path="/etc/hostname"),
    calls("Write", file_path=f"{W}/inside.txt", content="x\n"),
    calls("Write", file_path="<home>/outside.txt", content="x\n"),
    touch("touched.txt"),
    calls("Bash", command="echo hi > redirected.txt"),
    calls("Bash", command="python3 -c 'print(1)'"),
    says("Tried."),
)
FILES = {"here.txt": "here\n"}


def settings(**permissions: object) -> str:
    return json.dumps({"permissions": permissions})


SCENARIOS = (
    Scenario("nothing is allowed", (prompt("go"),), WISHES, files=FILES),
    Scenario("edits are accepted", (prompt("go", "--permission-mode", "acceptEdits"),), WISHES, files=FILES),
    Scenario("only a plan", (prompt("go", "--permission-mode", "plan"),), WISHES, files=FILES),
    Scenario("no user can be asked", (prompt("go", "--permission-mode", "dontAsk"),), WISHES, files=FILES),
    Scenario(
        "everything is allowed",
        (prompt("go", "--dangerously-skip-permissions", IS_SANDBOX="1"),),
        WISHES,
        files=FILES,
    ),
    Scenario(
        "everything is allowed by the mode",
        (prompt("go", "--permission-mode", "bypassPermissions", IS_SANDBOX="1"),),
        (touch("one.txt"), says("Done.")),
    ),
    Scenario("everything is allowed outside of a sandbox", (prompt("go", "--dangerously-skip-permissions"),), WISHES),
    Scenario(
        "rules with patterns",
        (prompt("go", "--allowedTools", "Bash(git *)", "Bash(touch one*)", "Write(inside/**)"),),
        (
            calls("Bash", command="git status --short"),
            calls("Bash", command="git status --short && touch two"),
            touch("one.txt"),
            touch("two.txt"),
            calls("Bash", command="git status --short; curl http://127.0.0.1:9/"),
            calls("Bash", command="git log $(curl http://127.0.0.1:9/)"),
            calls("Write", file_path=f"{W}/inside/a.txt", content="x\n"),
            calls("Write", file_path=f"{W}/other.txt", content="x\n"),
            says("Tried."),
        ),
    ),
    Scenario(
        "rules that forbid",
        (prompt("go", "--allowedTools", "Bash,Read", "--disallowedTools", "Bash(rm *)", "Read(secret/**)"),),
        (
            calls("Bash", command="rm here.txt"),
            calls("Bash", command="echo ok && rm here.txt"),
            calls("Bash", command="echo fine"),
            calls("Read", file_path=f"{W}/secret/key.txt"),
            calls("Read", file_path=f"{W}/here.txt"),
            says("Tried."),
        ),
        files={**FILES, "secret/key.txt": "key\n"},
    ),
    Scenario(
        "searches where something must not be read",
        (prompt("go", "--allowedTools", "Glob,Grep,Read", "--disallowedTools", "Read(secret/**)"),),
        (
            calls("Grep", pattern="key", output_mode="content"),
            calls("Grep", pattern="key"),
            calls("Grep", pattern="key", output_mode="count"),
            calls("Grep", pattern="key", path="secret", output_mode="content"),
            calls("Glob", pattern="**/*.txt"),
            says("Tried."),
        ),
        files={"secret/key.txt": "the key\n", "open.txt": "no key\n"},
    ),
    Scenario(
        "settings of the user",
        (prompt("go"),),
        (touch("one.txt"), touch("two.txt"), calls("WebFetch", url="http://127.0.0.1:9/", prompt="x"), says("Tried.")),
        files={
            "<home>/.claude/settings.json": settings(allow=["Bash(touch one*)"], deny=["WebSearch", "NotebookEdit"])
        },
    ),
    Scenario(
        "settings of a project that nobody trusts",
        (prompt("go"),),
        (touch("one.txt"), calls("Bash", command="echo no"), says("Tried.")),
        files={".claude/settings.json": settings(allow=["Bash(touch one*)"], deny=["Bash(echo no*)"])},
    ),
    Scenario(
        "settings on the command line",
        (
            prompt(
                "go",
                "--settings",
                json.dumps({"permissions": {"allow": ["Bash(touch *)"]}, "model": "haiku", "env": {"FOO": "bar"}}),
            ),
        ),
        (touch("one.txt"), calls("Bash", command="printenv FOO"), says("Tried.")),
    ),
    Scenario(
        "the mode is in the settings of the user",
        (prompt("go"),),
        (touch("one.txt"), says("Tried.")),
        files={"<home>/.claude/settings.json": settings(defaultMode="acceptEdits")},
    ),
    Scenario(
        "another folder to work in",
        (prompt("go", "--add-dir", "<home>/tmp", "--permission-mode", "acceptEdits"),),
        (
            calls("Write", file_path="<home>/tmp/a.txt", content="x\n"),
            calls("Read", file_path="<home>/tmp/a.txt"),
            calls("Write", file_path="<home>/b.txt", content="x\n"),
            says("Tried."),
        ),
    ),
    Scenario(
        "a link that leads out",
        (prompt("go", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(ln *)"),),
        (
            calls("Bash", command="ln -s <home> out"),
            calls("Write", file_path=f"{W}/out/a.txt", content="x\n"),
            calls("Read", file_path=f"{W}/out/.claude.json"),
            says("Tried."),
        ),
    ),
)
