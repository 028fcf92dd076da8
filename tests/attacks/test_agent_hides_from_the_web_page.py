"""Attack: an agent with the token of `bridle watch` sends an action so that the server cannot find who sent it.

It closes the connection at once, so that no process holds its end, or it forbids other processes to look at it.

With the sandbox: the token is hidden; with the token from elsewhere it is refused.
Without: the token can be read; the action is refused.
Reported: one that hides itself in the receipt, under `refused`; one that has gone is not known.
"""

from __future__ import annotations

import json
from pathlib import Path

from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_folder, run_plan
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project
from tests.views.web.fixtures.watch_server import watching_project

AGENT = f"""
import ctypes, socket, struct
beside = os.path.dirname(calls)
[folder] = [name for name in os.listdir(".a5c/runs") if not name.startswith(".")]
port, token = open(os.path.join(beside, "server")).read().split()

def send(text):
    body = json.dumps({{"action": "hint", "run": folder, "text": text}})
    connection = socket.create_connection(("127.0.0.1", int(port)), timeout=60)
    connection.sendall("\\r\\n".join([
        "POST /api/actions HTTP/1.1", "Host: 127.0.0.1:" + port, "Origin: http://127.0.0.1:" + port,
        "Authorization: Bearer " + token, "Content-Type: application/json", "Content-Length: " + str(len(body)),
        "", body]).encode())
    return connection

send("closed at once").close()
half = send("closed for writing")
half.shutdown(socket.SHUT_WR)
half.recv(100)
PR_SET_DUMPABLE = 4
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
status = send("hidden").recv(100).split()[1].decode()
with open(os.path.join(beside, "outcome"), "w") as file:
    json.dump(status, file)
{MAKES_FILE}
"""


def test_an_agent_that_hides_changes_nothing(tmp_path: Path, sandbox: str) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, AGENT, sandbox=sandbox)
    with watching_project(here) as server:
        (here.agent_folder / "server").write_text(f"{server.port} {server.token}")
        receipt = run_plan(here, 0)
        assert server.get("/api/board")["needs"] == []  # what was sent before is answered
    assert json.loads((here.agent_folder / "outcome").read_text()) == "403"
    state = FileStore(run_folder(here)).state()
    assert [entry.data for entry in state.notes if entry.type == user_messages.HINT] == []
    assert any("watch: hint" in line for line in receipt["refused"]), receipt
