"""The transcript of a sub-agent: a side chain in a file of its own, in the folder of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import History
from bridle.agent.sessions.session import Session
from bridle.agent.sessions.transcript_entries import Line, Origin
from bridle.ground import disk


class AgentMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a sub-agent is, written beside its transcript."""

    agent_type: str
    description: str
    tool_use_id: str
    spawn_depth: int
    worktree_path: str | None = None
    worktree_branch: str | None = None
    worktree_base: str = ""
    """The commit that the worktree began with."""
    model: str | None = None
    """The model that the call named."""


class AgentSession(Session):
    """The transcript of a sub-agent; its lines name the agent and belong to no main conversation."""

    def __init__(
        self,
        origin: Origin,
        path: Path | None,
        *,
        agent_id: str,
        meta: AgentMeta,
        prompt_id: str,
        history: History | None = None,
        fd: int | None = None,
    ) -> None:
        """`history` and `fd` are those of an agent that continues."""
        super().__init__(origin, path, history=history, fd=fd)
        self.prompt_id = prompt_id
        self._agent_id, self._meta, self._has_meta = agent_id, meta, history is not None

    def flush(self) -> None:
        """Write the buffered lines and sync them; the first time, write what the agent is."""
        super().flush()
        self._write_meta()

    async def save(self) -> None:
        """Write the buffered lines and sync them in a thread."""
        await super().save()
        self._write_meta()

    def close(self) -> None:
        """Write the last lines and close the file; may be called twice."""
        try:
            self.flush()
        finally:
            self._file.close()

    def _encode_line(self, line: Line) -> bytes:
        fields: dict[str, Any] = msgspec.to_builtins(line)
        origin: dict[str, Any] = fields.pop("origin", {})
        marked: dict[str, Any] = {}
        for name, value in fields.items():
            marked[name] = True if name == "isSidechain" else value
            if name == ("promptId" if "promptId" in fields else "isSidechain"):
                marked["agentId"] = self._agent_id
            if name == "message" and fields["type"] == "assistant" and "isApiErrorMessage" not in fields:
                marked["attributionAgent"] = self._meta.agent_type
        return transcript_entries.encode_json(marked | origin)

    def _write_meta(self) -> None:
        path = self.path
        if path is None or self._has_meta or not path.exists():
            return
        self._has_meta = True
        disk.write_private(path.with_suffix(".meta.json"), msgspec.json.encode(self._meta))


def agent_transcript(session: Session, agent_id: str) -> Path | None:
    """Return the path of a sub-agent's transcript; None if the session has none."""
    if session.path is None:
        return None
    return session.path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
