"""Answers that cannot go back to the endpoint as they came, and what a file brings along."""

from __future__ import annotations

from tests.real.side_by_side.scenario import (
    STREAM,
    AwaitEvent,
    Scenario,
    Start,
    call,
    calls,
    dialogue,
    error,
    message,
    prompt,
    says,
    thinks,
)

BASH = ("--allowedTools", "Bash")
SONNET = ("--model", "sonnet")
# One pixel.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

SCENARIOS = (
    Scenario(
        "a picture that is refused",
        (Start((*STREAM, *SONNET, *BASH, "--", "go")), Start((*STREAM, *SONNET, "-c", "--", "again"))),
        (
            calls("Bash", command=f"echo {PICTURE} | base64 -d > a.png"),
            calls("Read", file_path="<workspace>/a.png"),
            error(400, message="messages.4.content.0.image.source.base64.data: Could not process image"),
            says("Done."),
            says("Again."),
        ),
    ),
    Scenario(
        "one turn with three parallel calls",
        (prompt("go", "--max-turns", "1", *BASH),),
        ({"blocks": [call("Bash", command=f"echo {number}") for number in range(3)]},),
        any_order=True,
    ),
    Scenario(
        "a blank text before a call",
        (prompt("go", *BASH),),
        ({"blocks": [" ", call("Bash", command="echo 1")]}, says("Done.")),
    ),
    Scenario("only a thought", (prompt("go"),), (thinks("Hm."), says("Done."))),
    Scenario("a call that does not come", (prompt("go"),), (says("I will now", stop_reason="tool_use"), says("Done."))),
    Scenario(
        "a blank message",
        (dialogue(message(" "), AwaitEvent("result"), message("two"), AwaitEvent("result", 2)),),
        (says("One."), says("Two.")),
    ),
    Scenario(
        "an id that comes again",
        (prompt("go", *BASH),),
        (
            {"blocks": [{**call("Bash", command="echo 1"), "id": "toolu_same"}]},
            {"blocks": [{**call("Bash", command="echo 2"), "id": "toolu_same"}]},
            says("Done."),
        ),
    ),
    Scenario(
        "instructions of a subfolder",
        (prompt("go"),),
        (*(calls("Read", file_path=name) for name in ("sub/a.txt", "src/b.py", "sub/c.txt")), says("Done.")),
        files={
            "sub/a.txt": "one\n",
            "sub/c.txt": "three\n",
            "sub/CLAUDE.md": "Mind the gap. @more.md\n",
            "sub/more.md": "And the step.\n",
            "src/b.py": "two\n",
            ".claude/rules/py.md": "---\npaths: src/**/*.py\n---\nUse tabs.\n",
        },
    ),
    Scenario(
        "new content for a file with other line ends",
        (prompt("go", "--permission-mode", "acceptEdits"),),
        (calls("Read", file_path="a.txt"), calls("Write", file_path="a.txt", content="x\ny\n"), says("Done.")),
        files={"a.txt": "one\r\ntwo\r\n"},
    ),
)
