"""WebSearch: what the endpoint is asked for, what the model reads, and what searches cost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bridle.agent.model.api.models import has_web_search
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.web.search_tool import WebSearch, WebSearchInput, list_results
from bridle.errors import ModelFailure

REMINDER = "\nREMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks."
LINK = {"title": "Ö", "url": "https://o.example/"}


def searched(answer: Any, **request: Any) -> tuple[ToolResult, list[Any]]:
    """The result of a call, and what the endpoint was asked."""
    asked: list[Any] = []

    async def ask(_system: str, question: str, tool: dict[str, Any]) -> Any:
        asked.extend([question, tool])
        if isinstance(answer, Exception):
            raise answer
        return answer

    return asyncio.run(WebSearch(ask).run(WebSearchInput("bridle", **request), call_id="toolu_1")), asked


def result(content: Any, of: str = "srv_1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": of, "content": content}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


CALL = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "bridle"}}


def test_links_and_texts_are_in_the_order_of_the_answer() -> None:
    found_link = {"type": "web_search_result", **LINK, "encrypted_content": "eA=="}
    done, asked = searched([text("I look."), CALL, result([found_link]), text("One "), text("text.\n"), result([])])
    assert done.content == (
        'Web search results for query: "bridle"\n\nI look.\n\nLinks: [{"title":"Ö","url":"https://o.example/"}]\n\n'
        f"One text.\n\nNo links found.\n\n{REMINDER}"
    )
    assert done.detail.pop("durationSeconds") >= 0
    results = [
        "I look.",
        {"tool_use_id": "srv_1", "content": [LINK]},
        "One text.",
        {"tool_use_id": "srv_1", "content": []},
    ]
    assert done.detail == {"query": "bridle", "results": results, "searchCount": 2}
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    assert asked == ["Perform a web search for the query: bridle", tool]


@pytest.mark.parametrize(
    ("domains", "is_asked"),
    [
        ({"allowed_domains": ["a.example"]}, True),
        ({"blocked_domains": ["a.example"], "allowed_domains": []}, True),
        ({"blocked_domains": ["a.example"], "allowed_domains": ["b.example"]}, False),
    ],
)
def test_domains_are_allowed_or_blocked_and_never_both(domains: dict[str, list[str]], is_asked: bool) -> None:
    done, asked = searched([CALL, result([])], **domains)
    assert done.is_error != is_asked
    assert [{name: tool[name] for name in domains} for tool in asked[1:]] == [domains] * is_asked
    if done.is_error:
        assert "Cannot specify both allowed_domains and blocked_domains" in str(done.content)


@pytest.mark.parametrize(
    ("answer", "results", "count"),
    [
        ([CALL, result({"type": "web_search_tool_result_error", "error_code": "unavailable"})], "unavailable", 1),
        ([CALL, result(None)], "unknown", 1),
    ],
)
def test_an_error_of_the_server_tool_is_for_the_model(answer: Any, results: str, count: int) -> None:
    done, _ = searched(answer)
    assert (done.detail["results"], done.detail["searchCount"]) == ([f"Web search error: {results}"], count)
    assert not done.is_error


def test_a_request_that_fails_is_for_the_model_too() -> None:
    done, _ = searched(ModelFailure("API Error: 400 no search", error="invalid_request"))
    assert (done.detail["results"], done.detail["searchCount"]) == (["API Error: 400 no search"], 0)
    assert list_results([]) == []


def test_a_search_that_the_endpoint_has_not_finished_counts() -> None:
    done, _ = searched([CALL])
    assert (done.detail["results"], done.detail["searchCount"]) == ([], 1)
    assert done.content == f'Web search results for query: "bridle"\n\n{REMINDER}'


@pytest.mark.parametrize(
    ("environment", "has_it"),
    [
        ({}, True),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, True),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, False),
        ({"BRIDLE_ENDPOINT": "chat"}, False),
    ],
)
def test_some_endpoints_do_not_search(environment: dict[str, str], has_it: bool) -> None:
    assert has_web_search(environment) == has_it
