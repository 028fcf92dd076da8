"""The answer to `get_context_usage`."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import calls, raw_host, says


def test_the_categories_add_up_to_the_window(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(("Bash", {"command": "echo hi"})), says("done")) as host:
        (host.workspace / "CLAUDE.md").write_text("Be kind. " * 100)
        host.request("1", subtype="get_context_usage")
        before = host.response("1")["response"]
        assert before["apiUsage"] is None
        host.prompt("go")
        host.result()
        host.request("2", subtype="get_context_usage")
        after = host.response("2")["response"]
        for usage in (before, after):
            tokens = {category["name"]: category["tokens"] for category in usage["categories"]}
            assert sum(tokens.values()) == usage["maxTokens"]
            assert usage["totalTokens"] == usage["maxTokens"] - tokens["Free space"]
            assert tokens["System tools"] > tokens["Memory files"] > 200
            assert sum(len(row) for row in usage["gridRows"]) == 200
        assert after["totalTokens"] > before["totalTokens"]
        assert after["apiUsage"]["input_tokens"] > 0
        (file,) = after["memoryFiles"]
        assert (file["path"], file["type"]) == (str(host.workspace / "CLAUDE.md"), "Project")
        (bash,) = after["messageBreakdown"]["toolCallsByType"]
        assert bash["name"] == "Bash"
        assert bash["callTokens"]
        assert bash["resultTokens"]


def test_the_window_is_that_of_the_model(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("done"), flags=("--model", "haiku")) as host:
        host.request("1", subtype="get_context_usage")
        usage = host.response("1")["response"]
        assert (usage["maxTokens"], usage["model"]) == (200_000, "claude-haiku-4-5-20251001")
        assert 0 < usage["autoCompactThreshold"] < 200_000
        assert len(usage["gridRows"][0]) == 10
