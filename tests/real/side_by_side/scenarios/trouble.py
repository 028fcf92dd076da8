"""A server that refuses, stalls or breaks off, and answers that cannot be used."""

from __future__ import annotations

from tests.real.side_by_side.scenario import Scenario, calls, error, prompt, says

NOW = {"headers": {"retry-after": "0"}}
FOREVER = {"times": "forever", **NOW}

SCENARIOS = (
    Scenario("a bad request", (prompt("go"),), (error(400, message="no such luck"),)),
    Scenario("a wrong key", (prompt("go"),), (error(401, **FOREVER),)),
    Scenario("a forbidden request", (prompt("go"),), (error(403, message="forbidden"),)),
    Scenario("a model that is not there", (prompt("go", "--model", "no-such-model"),), (error(404, times="forever"),)),
    Scenario(
        "too many requests, then an answer", (prompt("go"),), (error(429, headers={"retry-after": "1"}), says("Here."))
    ),
    Scenario("too many requests for ever", (prompt("go"),), (error(429, message="slow down", **FOREVER),)),
    Scenario("a server that fails, then an answer", (prompt("go"),), (error(500), says("Here."))),
    Scenario("a server that fails for ever", (prompt("go"),), (error(500, message="broken", **FOREVER),)),
    Scenario("an overload for ever", (prompt("go"),), (error(529, **FOREVER),)),
    Scenario("three overloads for ever", (prompt("go", CLAUDE_CODE_MAX_RETRIES="4"),), (error(529, **FOREVER),)),
    Scenario("nobody listens", (prompt("go", ANTHROPIC_BASE_URL="http://127.0.0.1:9"),)),
    Scenario("no key", (prompt("go", ANTHROPIC_API_KEY=None),)),
    Scenario(
        "an empty key and a token",
        (prompt("go", ANTHROPIC_API_KEY="", ANTHROPIC_AUTH_TOKEN="token"),),
        (says("Here."),),
    ),
    Scenario(
        "an overload inside of an answer",
        (prompt("go"),),
        ({"kind": "overloaded_in_stream", "blocks": ["Half of it"], "after_events": 3}, says("Whole.")),
    ),
    Scenario(
        "an answer that is cut",
        (prompt("go"),),
        ({"kind": "drop_connection", "blocks": ["Half of a sentence"], "after_events": 4}, says("A whole sentence.")),
    ),
    Scenario("a connection that breaks off at once", (prompt("go"),), ({"kind": "drop_connection"}, says("Here."))),
    Scenario(
        "a prompt that is too long",
        (prompt("go"),),
        (error(400, message="prompt is too long: 210000 tokens > 200000 maximum", times="forever"),),
    ),
    Scenario("a request that is too large", (prompt("go"),), (error(413, times="forever"),)),
    Scenario("a refusal", (prompt("go"),), (says("I will", stop_reason="refusal"),)),
    Scenario(
        "an answer that hits its length",
        (prompt("go"),),
        (says("Half", stop_reason="max_tokens"), says("and the rest.")),
    ),
    Scenario("an answer without content", (prompt("go"),), (says(), says("Here."))),
    Scenario("an answer without content forever", (prompt("go"),), (says(),) * 9),
    Scenario(
        "a stop in the middle of the model's own work",
        (prompt("go"),),
        (says("Half", stop_reason="pause_turn"), says("Rest.")),
    ),
    Scenario(
        "a window that is full",
        (prompt("go"),),
        (says("Half", stop_reason="model_context_window_exceeded"), says("Rest.")),
    ),
    Scenario(
        "a call that hits the length of the answer",
        (prompt("go", "--allowedTools", "Bash"),),
        ({**calls("Bash", command="echo hi"), "stop_reason": "max_tokens"}, says("Done."), says("Again.")),
    ),
    Scenario(
        "a call that is cut by the length of the answer",
        (prompt("go", "--allowedTools", "Bash"),),
        (
            {
                "blocks": ["So.", {"type": "tool_use", "name": "Bash", "input": {}, "raw_input": '{"command": "ec'}],
                "stop_reason": "max_tokens",
            },
            says("Done."),
            says("Again."),
        ),
    ),
    Scenario(
        "a call with an ordinary stop",
        (prompt("go", "--allowedTools", "Bash"),),
        ({**calls("Bash", command="echo hi"), "stop_reason": "end_turn"}, says("Done.")),
    ),
    Scenario(
        "an overload inside of every answer",
        (prompt("go"),),
        ({"kind": "overloaded_in_stream", "blocks": ["Half of it"], "after_events": 3, "times": "forever"},),
    ),
    Scenario(
        "answers that always break off",
        (prompt("go"),),
        ({"kind": "drop_connection", "blocks": ["Half of a sentence"], "after_events": 4, "times": "forever"},),
    ),
    Scenario(
        "an answer that is no answer", (prompt("go"),), ({"kind": "malformed", "text": "<html>", "times": "forever"},)
    ),
    Scenario("another stop", (prompt("go"),), (says("Here", stop_reason="stop_sequence", stop_sequence="END"),)),
    Scenario(
        "another model after overloads",
        (prompt("go", "--model", "opus", "--fallback-model", "sonnet", CLAUDE_CODE_MAX_RETRIES="4"),),
        (error(529, times=3, **NOW), says("From the other.")),
    ),
    Scenario(
        "a failure after a tool",
        (prompt("go", "--allowedTools", "Bash"),),
        (calls("Bash", command="echo hi"), error(400, message="no such luck")),
    ),
)
