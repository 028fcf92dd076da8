"""What a sub-agent returns to its caller: its report, or the notice that it runs in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bridle.agent.stdio.task_events import TaskUsage
from bridle.agent.subagents.agent_log import AgentLog
from bridle.agent.subagents.builtin import ONE_SHOT
from bridle.agent.subagents.git_worktree import GitWorktree
from bridle.agent.tools.contract.tool import ToolResult

NO_OUTPUT = "(The agent ended without a report.)"


def final_report(log: AgentLog, model: str, kept: GitWorktree | None) -> ToolResult:
    """Return the result of the call that started an agent; `kept` is the worktree that it leaves."""
    text, progress, identity = log.last_text, log.progress, log.identity
    tokens = _all_tokens(log)
    content = [{"type": "text", "text": text or NO_OUTPUT}]
    if identity.type not in ONE_SHOT:
        content.append(
            {
                "type": "text",
                "text": (
                    f"agentId: {identity.id} (use SendMessage with to: '{identity.id}',"
                    " summary: '<5-10 word recap>' to continue this agent)\n"
                    f"{_place(kept)}<usage>subagent_tokens: {tokens}\n"
                    f"tool_uses: {progress.tool_uses}\nduration_ms: {progress.milliseconds}</usage>"
                ),
            }
        )
    detail: dict[str, Any] = {
        "status": "completed",
        "prompt": identity.prompt,
        "agentId": identity.id,
        "agentType": identity.type,
        "content": [{"type": "text", "text": text}] if text else [],
        "resolvedModel": model,
        "totalDurationMs": progress.milliseconds,
        "totalTokens": tokens,
        "totalToolUseCount": progress.tool_uses,
        "usage": log.usage,
    }
    if progress.stats is not None:
        detail["toolStats"] = progress.stats
    if kept is not None:
        detail |= {"worktreePath": str(kept.path), "worktreeBranch": kept.branch}
    return ToolResult(content, detail=detail)


def launch_report(log: AgentLog, model: str, output_file: Path) -> ToolResult:
    """Return the result of the call that started an agent in the background."""
    identity = log.identity
    text = (
        f"The agent was started in the background.\nagentId: {identity.id} (SendMessage to this id reaches it)\n"
        "You are notified when it ends; its report comes with the notification. Until then do other work, and leave the"
        " agent's files and topics to it.\n"
        f"output_file: {output_file}\n"
        "That file is the agent's whole transcript: do not read it."
    )
    detail = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": identity.id,
        "description": identity.description,
        "resolvedModel": model,
        "prompt": identity.prompt,
        "outputFile": str(output_file),
        "canReadOutputFile": True,
    }
    return ToolResult([{"type": "text", "text": text}], detail=detail)


def notice_text(
    log: AgentLog, status: str, summary: str, output_file: Path, usage: TaskUsage, kept: GitWorktree | None
) -> str:
    """Return the message that reports the end of an agent in the background to the model."""
    identity = log.identity
    parts = [
        f"<task-id>{identity.id}</task-id>",
        f"<tool-use-id>{identity.call_id}</tool-use-id>",
        f"<output-file>{output_file}</output-file>",
        f"<status>{status}</status>",
        f"<summary>{summary}</summary>",
        *([f"<result>{log.last_text}</result>"] if log.last_text else []),
    ]
    parts.append(
        f"<usage><subagent_tokens>{usage.total_tokens}</subagent_tokens><tool_uses>{usage.tool_uses}</tool_uses>"
        f"<duration_ms>{usage.duration_ms}</duration_ms></usage>"
    )
    if kept is not None:
        place = f"<worktreePath>{kept.path}</worktreePath><worktreeBranch>{kept.branch}</worktreeBranch>"
        parts.append(f"<worktree>{place}</worktree>")
    return "\n".join(["<task-notification>", *parts, "</task-notification>"])


def _place(kept: GitWorktree | None) -> str:
    return "" if kept is None else f"worktreePath: {kept.path}\nworktreeBranch: {kept.branch}\n"


def _all_tokens(log: AgentLog) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(count for name in names if isinstance(count := log.usage.get(name), int))
