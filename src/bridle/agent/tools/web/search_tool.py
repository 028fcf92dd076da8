"""The WebSearch tool: the endpoint searches, with its server tool `web_search`, in a request of its own."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from bridle.agent.tools.contract.tool import AskServerTool, ContentBlock, ToolResult, rejected_call
from bridle.errors import ModelFailure

SYSTEM = "You search the web with the tool web_search."
# The number of searches that the endpoint makes at most for one call.
_SEARCHES = 8
_REMINDER = "REMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks."
_BOTH = "Error: Cannot specify both allowed_domains and blocked_domains in the same request"


class WebSearchInput(msgspec.Struct, frozen=True):
    """The input of WebSearch."""

    query: str
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class WebSearch:
    """Searches the web."""

    input_type = WebSearchInput

    def __init__(self, ask: AskServerTool) -> None:
        self._ask = ask

    async def run(self, request: WebSearchInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Search, and return the links and texts of the answer in their order."""
        if request.allowed_domains and request.blocked_domains:
            return rejected_call(_BOTH)
        started = time.monotonic()
        try:
            question = f"Perform a web search for the query: {request.query}"
            blocks = await self._ask(SYSTEM, question, _server_tool(request))
        except ModelFailure as failure:  # as in Claude Code, the model reads why
            blocks = [{"type": "text", "text": failure.text}]
        results = list_results(blocks)
        detail = {
            "query": request.query,
            "results": results,
            "durationSeconds": time.monotonic() - started,
            "searchCount": max(_count(blocks, "server_tool_use"), _count(blocks, "web_search_tool_result")),
        }
        return ToolResult(_shown(request.query, results), detail=detail)


def list_results(blocks: list[ContentBlock]) -> list[Any]:
    """Return the texts and the lists of links of an answer; texts that follow each other are one."""
    results: list[Any] = []
    text = ""
    for block in [*blocks, {}]:
        if block.get("type") == "text":
            text += str(block.get("text") or "")
            continue
        if text.strip():
            results.append(text.strip())
        text = ""
        if block.get("type") == "web_search_tool_result":
            results.append(_links(block))
    return results


def _server_tool(request: WebSearchInput) -> ContentBlock:
    domains = {"allowed_domains": request.allowed_domains, "blocked_domains": request.blocked_domains}
    given = {name: value for name, value in domains.items() if value is not None}
    return {"type": "web_search_20250305", "name": "web_search", **given, "max_uses": _SEARCHES}


def _links(block: ContentBlock) -> Any:
    """Return the links of one search, or the text of its error."""
    content = block.get("content")
    if not isinstance(content, list):
        code = content.get("error_code") if isinstance(content, dict) else None
        return f"Web search error: {code or 'unknown'}"
    links = [{"title": item.get("title"), "url": item.get("url")} for item in content if isinstance(item, dict)]
    return {"tool_use_id": block.get("tool_use_id"), "content": links}


def _count(blocks: list[ContentBlock], kind: str) -> int:
    return sum(block.get("type") == kind for block in blocks)


def _shown(query: str, results: list[Any]) -> str:
    """Return what the model reads."""
    parts = [_shown_links(result["content"]) if isinstance(result, dict) else result for result in results]
    return "".join(f"{part}\n\n" for part in [f'Web search results for query: "{query}"', *parts]) + f"\n{_REMINDER}"


def _shown_links(links: list[dict[str, Any]]) -> str:
    return f"Links: {msgspec.json.encode(links).decode()}" if links else "No links found."
