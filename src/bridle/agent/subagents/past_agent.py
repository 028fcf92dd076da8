"""Opens the transcript of a sub-agent that has ended, so that the agent can continue."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from bridle.agent.sessions import history
from bridle.agent.sessions.api_messages import History
from bridle.agent.sessions.open_session import open_locked
from bridle.agent.subagents.git_worktree import GitWorktree
from bridle.agent.subagents.transcript import AgentMeta
from bridle.errors import DiskError, UserError
from bridle.ground import disk

_META_LIMIT_BYTES = 64 * 1024


class PastAgent(msgspec.Struct, frozen=True):
    """A sub-agent that has ended."""

    meta: AgentMeta
    history: History
    fd: int
    """The transcript, open for writing and locked."""

    def worktree(self, top: Path | None) -> GitWorktree | None:
        """Return the worktree that the agent left, if it is still there."""
        meta = self.meta
        if top is None or meta.worktree_path is None or not os.path.isdir(meta.worktree_path):
            return None
        return GitWorktree(Path(meta.worktree_path), meta.worktree_branch or "", meta.worktree_base, top)


def open_past_agent(path: Path | None, agent_id: str) -> PastAgent:
    """Open the transcript of an agent. Raises UserError if it is missing or cannot be used."""
    if path is None or not path.exists():
        raise UserError(f"No transcript found for agent ID: {agent_id}")
    try:
        meta = msgspec.json.decode(disk.read_bounded(path.with_suffix(".meta.json"), _META_LIMIT_BYTES), type=AgentMeta)
    except (DiskError, msgspec.MsgspecError) as error:
        raise UserError(f"{path.with_suffix('.meta.json')} cannot be read: {error}") from error
    fd = open_locked(path)
    try:
        return PastAgent(meta, history.load(path, is_side_chain=True), fd)
    except BaseException:
        os.close(fd)
        raise
