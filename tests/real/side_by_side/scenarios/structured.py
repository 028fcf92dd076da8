"""Answers in a form that the caller sets."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, Start, calls, dialogue, message, prompt, says

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
FORM = ("--json-schema", json.dumps(SCHEMA))
GOOD = calls("StructuredOutput", name="a", n=1)
BAD = calls("StructuredOutput", name="a")

TYPES = {
    name: {"type": kind}
    for name, kind in (
        ("text", "string"),
        ("flag", "boolean"),
        ("number", "number"),
        ("many", "array"),
        ("one", "object"),
        ("nothing", "null"),
    )
}
WRONG_TYPES = ({"text": 5}, {"text": True}, {"many": "x"}, {"nothing": ""})

SCENARIOS = (
    Scenario("in form at once", (prompt("go", *FORM),), (GOOD,)),
    Scenario(
        "in form after a tool",
        (prompt("go", *FORM, "--allowedTools", "Bash"),),
        (calls("Bash", command="echo hi"), GOOD),
    ),
    Scenario("in form with the default tools", (prompt("go", *FORM, "--tools", "default"),), (GOOD,)),
    Scenario("in form after words", (prompt("go", *FORM),), (says("Words."), GOOD)),
    Scenario("never in form", (prompt("go", *FORM),), (says("Only words."),) * 9),
    Scenario(
        "in form after wrong data", (prompt("go", *FORM),), (BAD, calls("StructuredOutput", name="a", n=1, x=2), GOOD)
    ),
    Scenario("always wrong data", (prompt("go", *FORM),), (BAD,) * 9),
    Scenario("data of another type", (prompt("go", *FORM),), (calls("StructuredOutput", name="a", n="1"),)),
    Scenario(
        "data of a type that is not converted",
        (prompt("go", "--json-schema", json.dumps({"type": "object", "properties": TYPES})),),
        (
            *(calls("StructuredOutput", **wrong) for wrong in WRONG_TYPES),
            calls("StructuredOutput", text="a", flag="true", number="1.5", many="[1]", one='{"a": 1}'),
        ),
    ),
    Scenario("in form, output as json", (Start(("-p", "--output-format", "json", "go", *FORM)),), (GOOD,)),
    Scenario("in form, output as text", (Start(("-p", "go", *FORM)),), (GOOD,)),
    Scenario("a schema that is no JSON", (prompt("go", "--json-schema", "{not json"),), (says("never"),)),
    Scenario("an invalid schema", (prompt("go", "--json-schema", '{"type":"nope"}'),), (says("Words."),)),
    Scenario(
        "in form in each turn",
        (
            dialogue(
                message("one"), AwaitEvent("result"), message("two"), more=(*FORM, "--tools", "Read,StructuredOutput")
            ),
        ),
        (GOOD, calls("StructuredOutput", name="b", n=2)),
    ),
)
