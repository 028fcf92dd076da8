"""Web searches, which the endpoint makes: what it is asked for, what the model reads of the answer, and the costs."""

from __future__ import annotations

from typing import Any

from tests.real.side_by_side.scenario import Answer, Scenario, calls, error, prompt, says

ALLOW = ("--allowedTools", "WebSearch")


def results(*found: tuple[str, str], of: str = "srvtoolu_1") -> dict[str, Any]:
    """The block with what a search found."""
    content = [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": "eA==", "page_age": "today"}
        for title, url in found
    ]
    return {"type": "raw", "block": {"type": "web_search_tool_result", "tool_use_id": of, "content": content}}


def failed(code: str, of: str = "srvtoolu_1") -> dict[str, Any]:
    """The block of a search that failed."""
    content = {"type": "web_search_tool_result_error", "error_code": code}
    return {"type": "raw", "block": {"type": "web_search_tool_result", "tool_use_id": of, "content": content}}


def searches(query: str, of: str = "srvtoolu_1") -> dict[str, Any]:
    """The block with which the endpoint searches."""
    block = {"type": "server_tool_use", "id": of, "name": "web_search", "input": {"query": query}}
    return {"type": "raw", "block": block}


def answered(*blocks: Any, searched: int = 1, **more: Any) -> Answer:
    """The endpoint's answer to the request of a search."""
    usage = {"input_tokens": 200, "output_tokens": 30, "web_search_requests": searched}
    return {"blocks": list(blocks), "usage": usage, "stop_reason": "end_turn", **more}


def search(query: str, **more: Any) -> Answer:
    return calls("WebSearch", query=query, **more)


FOUND = answered(
    searches("bridle"),
    results(("Bridle", "https://bridle.example/"), ("Ö & <b>", "https://o.example/?a=1")),
    "It is a tool.",
)

SCENARIOS = (
    Scenario(
        "a web search",
        (prompt("go", *ALLOW),),
        (search("bridle agents"), FOUND, says("Done.")),
        transcript=True,
    ),
    Scenario(
        "web searches with domains",
        (prompt("go", *ALLOW),),
        (
            search("bridle", allowed_domains=["a.example", "b.example"]),
            FOUND,
            search("bridle", blocked_domains=["c.example"]),
            FOUND,
            search("bridle", allowed_domains=["a.example"], blocked_domains=["c.example"]),
            search("bridle", allowed_domains=[], blocked_domains=["c.example"]),
            FOUND,
            says("Done."),
        ),
    ),
    Scenario(
        "web searches of a wrong form",
        (prompt("go", *ALLOW),),
        (
            search("a"),
            calls("WebSearch"),
            search("ab", max_uses=3),
            search("ab", allowed_domains="a.example"),
            search(""),
            says("Done."),
        ),
    ),
    Scenario(
        "several searches in one answer",
        (prompt("go", *ALLOW),),
        (
            search("bridle"),
            answered(
                "I search.",
                searches("one"),
                results(("One", "https://one.example/")),
                "First ",
                "text. ",
                searches("two", "srvtoolu_2"),
                results(of="srvtoolu_2"),
                "  Second text.\n",
                searched=2,
            ),
            says("Done."),
        ),
    ),
    Scenario(
        "a web search that the endpoint refuses",
        (prompt("go", *ALLOW),),
        (
            search("bridle"),
            answered(searches("one"), failed("max_uses_exceeded"), "Sorry.", searched=0),
            search("bridle"),
            answered(searches("one"), failed("unavailable"), searched=0),
            says("Done."),
        ),
    ),
    Scenario(
        "a web search without a search",
        (prompt("go", *ALLOW),),
        (search("bridle"), answered("I know it.", searched=0), search("bridle"), answered(searched=0), says("Done.")),
    ),
    Scenario(
        "a web search whose request fails",
        (prompt("go", *ALLOW),),
        (search("bridle"), error(400, message="tools.0: web_search is not enabled"), says("Done.")),
    ),
    Scenario(
        "a web search that is paused",
        (prompt("go", *ALLOW),),
        (search("bridle"), answered(searches("one"), stop_reason="pause_turn"), says("Done.")),
    ),
    Scenario(
        "a web search with rules",
        (prompt("go", "--allowedTools", "WebSearch(bridle)", "--disallowedTools", "WebSearch(other)"),),
        (search("bridle"), search("other"), says("Done.")),
    ),
    Scenario(
        "a web search with another model",
        (prompt("go", *ALLOW, "--model", "sonnet", "--effort", "low"),),
        (search("bridle"), FOUND, says("Done.")),
    ),
    Scenario(
        "a web search of a sub-agent",
        (prompt("go", "--allowedTools", "WebSearch,Agent"),),
        (
            calls("Agent", description="Search it", prompt="search", subagent_type="general-purpose"),
            search("bridle"),
            FOUND,
            says("Report."),
            says("Done."),
        ),
    ),
)
