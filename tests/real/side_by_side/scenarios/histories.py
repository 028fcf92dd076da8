"""Answers and messages that cannot go back to the endpoint as they came."""

from __future__ import annotations

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, call, dialogue, message, prompt, says, thinks

BASH = ("--allowedTools", "Bash")

SCENARIOS = (
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
)
