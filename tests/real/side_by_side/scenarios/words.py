"""Plain answers: where the prompt comes from, and in which forms the answer goes out."""

from __future__ import annotations

from tests.real.side_by_side.scenario import STREAM, Scenario, Send, Start, call, calls, error, prompt, says, thinks

BASH = ("--allowedTools", "Bash")

SCENARIOS = (
    Scenario("a plain answer", (prompt("say hello"),), (says("Hello."),), transcript=True),
    Scenario("several texts in one answer", (prompt("go"),), (says("One.", "Two."),)),
    Scenario(
        "text, then a call, in one answer",
        (prompt("go", *BASH),),
        ({"blocks": ["I look.", call("Bash", command="echo seen")]}, says("Seen.")),
        transcript=True,
    ),
    Scenario("text that is not plain", (prompt('Grüße 🐎\n\n  "two" $HOME `id`'),), (says("日本語 🐎\nline\n"),)),
    Scenario("the prompt on stdin", (Start(STREAM, (Send("from stdin"),)),), (says("Read."),)),
    Scenario("the prompt as argument and on stdin", (Start((*STREAM, "first"), (Send("second"),)),), (says("Both."),)),
    Scenario(
        "the prompt after two dashes",
        (
            Start(
                (*STREAM, "--", "--help me"),
            ),
        ),
        (says("Yes."),),
    ),
    Scenario(
        "flags with equals signs",
        (Start(("--print", "--output-format=stream-json", "--verbose", "--model=sonnet", "go")),),
        (says("Yes."),),
    ),
    Scenario(
        "output as text", (Start(("-p", "go", *BASH)),), (calls("Bash", command="echo hi"), says("Words.\nMore."))
    ),
    Scenario("output as json", (Start(("-p", "--output-format", "json", "go")),), (says("Words."),)),
    Scenario(
        "output as json with every event",
        (Start(("-p", "--output-format", "json", "--verbose", "go", *BASH)),),
        (calls("Bash", command="echo hi"), says("Words.")),
    ),
    Scenario("output as text of a failure", (Start(("-p", "go")),), (error(400, message="no such luck"),)),
    Scenario(
        "output as text of a limit",
        (Start(("-p", "go", "--max-turns", "1", *BASH)),),
        (calls("Bash", command="echo hi"), says("never")),
    ),
    Scenario(
        "partial messages",
        (prompt("go", "--include-partial-messages", *BASH),),
        ({"blocks": ["I look at it.", call("Bash", command="echo hi")]}, says("It is done, all of it.")),
    ),
    Scenario(
        "partial messages with a thought",
        (prompt("go", "--include-partial-messages", "--model", "haiku"),),
        (thinks("Let me see. It is a greeting.", "Hello."),),
    ),
    Scenario(
        "a thought",
        (prompt("go"), prompt("go", "--model", "claude-sonnet-4-5-20250929", MAX_THINKING_TOKENS="4096")),
        (thinks("Let me see. It is a greeting.", "Hello."), thinks("Hm.", "Again.")),
        transcript=True,
    ),
)
