"""Command lines that start nothing."""

from __future__ import annotations

from tests.real.side_by_side.scenario import STREAM, Scenario, Start, prompt


def refused(name: str, *arguments: str) -> Scenario:
    return Scenario(name, (Start(arguments),))


SCENARIOS = (
    Scenario("the version", (Start(("--version",)), Start(("-v",)))),
    refused("no prompt", *STREAM),
    refused("an option that nobody knows", *STREAM, "--nope", "go"),
    refused("events without the flag for verbose", "-p", "--output-format", "stream-json", "go"),
    refused("an output that is not known", "-p", "--output-format", "xml", "go"),
    refused("messages in, text out", "-p", "--input-format", "stream-json", "go"),
    refused("a mode that is not known", *STREAM, "go", "--permission-mode", "zzz"),
    refused("an option without its value", *STREAM, "go", "--model"),
    refused("an effort that is not known", *STREAM, "go", "--effort", "zzz"),
    refused("settings that are not there", *STREAM, "go", "--settings", "/nowhere/settings.json"),
    Scenario("settings that are no JSON", (prompt("go", "--settings", "{nonsense"),)),
)
