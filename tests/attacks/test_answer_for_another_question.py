"""Attack: a question is answered twice, so that the second approval meets the question that the run asks next.

A user approves in one tab what another tab has approved already, or clicks twice. The process has continued and asks
for more. An approval names its run and its effect, and never means another one.

With the sandbox: the same; no agent is needed.
Without: refused; the next question stays open.
Reported: to the page and on stderr, as an effect that is resolved already.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.journal.stores.file_store import FileStore
from tests.cli.fixtures.machine_commands import bridle, create
from tests.views.web.fixtures.watch_server import wait_for, watching

PROCESS = """
async def process(inputs, ctx):
    await ctx.breakpoint({"question": "Show the list?"})
    return await ctx.breakpoint({"question": "Delete everything?"})
"""


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_the_next_question_is_not_answered(tmp_path: Path, action: str) -> None:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    assert create(tmp_path, "--run-id", "r1").code == 0
    bridle("run:iterate", "r1", "--json", cwd=tmp_path)
    with watching(tmp_path) as server:
        (first,) = server.get("/api/board")["needs"]
        assert server.act(action="approve", run="r1", effect=first["effect"]).json["ok"] is True
        bridle("run:iterate", "r1", "--json", cwd=tmp_path)
        (second,) = wait_for(
            server, "/api/board", lambda board: [need["text"] for need in board["needs"]] == ["Delete everything?"]
        )["needs"]
        again = server.act(action=action, run="r1", effect=first["effect"])
        assert (again.status, "already resolved" in again.json["message"]) == (400, True), again.json
    typed = bridle("answer", first["effect"], f"--{action}", cwd=tmp_path)
    assert typed.code == 2
    assert "already resolved" in typed.stderr
    assert FileStore(tmp_path / ".a5c/runs/r1").state().effects[second["effect"]].is_pending
