"""Ends that were set beforehand: turns and money."""

from __future__ import annotations

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, calls, dialogue, message, prompt, says

BASH = ("--allowedTools", "Bash")
DEAR = {"input_tokens": 2_000_000, "output_tokens": 100_000}

SCENARIOS = (
    Scenario(
        "two turns at most",
        (prompt("go", "--max-turns", "2", *BASH),),
        (calls("Bash", command="echo 1"), calls("Bash", command="echo 2"), says("never")),
    ),
    Scenario("one turn at most is enough", (prompt("go", "--max-turns", "1"),), (says("Enough."),)),
    Scenario("a number of turns that is no number", (prompt("go", "--max-turns", "zzz"),), (says("Enough."),)),
    Scenario(
        "a budget that the last answer exceeds",
        (prompt("go", "--max-budget-usd", "0.5"),),
        (says("Dear.", usage=DEAR),),
    ),
    Scenario(
        "a budget that an early answer exceeds",
        (prompt("go", "--max-budget-usd", "0.5", *BASH),),
        ({**calls("Bash", command="echo 1"), "usage": DEAR}, says("never")),
    ),
    Scenario(
        "turns are limited in each turn of a dialogue",
        (dialogue(message("one"), AwaitEvent("result"), message("two"), more=("--max-turns", "1", *BASH)),),
        (calls("Bash", command="echo 1"), says("Second."), says("Third.")),
    ),
    Scenario("a budget that lasts", (prompt("go", "--max-budget-usd", "5"),), (says("Cheap."),)),
    Scenario("a budget that is no number", (prompt("go", "--max-budget-usd", "zzz"),), (says("Cheap."),)),
)
