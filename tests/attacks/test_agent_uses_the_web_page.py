"""Attack: an agent sends an action to the server of `bridle watch`, with the token from the user's home.

The server looks for the process at the other end of the connection, on Linux: one that is an agent or below one may not
change anything.

With the sandbox: the token is hidden; with the token from elsewhere it is refused.
Without: the token can be read; the action is refused.
Reported: to the agent, in the receipt and by the audit, under `refused`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_folder, run_plan
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project
from tests.views.web.fixtures.watch_server import watching_project

AGENT = f"""
import http.client, subprocess
beside = os.path.dirname(calls)
[folder] = [name for name in os.listdir(".a5c/runs") if not name.startswith(".")]
port, token = open(os.path.join(beside, "server")).read().split()
try:
    open(os.path.join(os.environ.get("BRIDLE_HOME") or os.path.expanduser("~/.bridle"), "watch-token")).read()
    found = True
except OSError:
    found = False
sender = '''
import http.client, json, sys
port, token, run = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
action = json.dumps({{"action": "hint", "run": run, "text": "approve"}})
connection.request("POST", "/api/actions", body=action, headers={{
    "Authorization": "Bearer " + token, "Origin": "http://127.0.0.1:" + port, "Content-Type": "application/json"}})
print(connection.getresponse().status)
'''
statuses = [
    subprocess.run([sys.executable, "-c", sender, port, token, folder], env=environment, capture_output=True, text=True,
                   start_new_session=True).stdout.strip()
    for environment in (dict(os.environ), {{}})
]
with open(os.path.join(beside, "outcome"), "w") as file:
    json.dump([found, statuses], file)
{MAKES_FILE}
"""


def test_an_agent_changes_nothing_through_the_page(tmp_path: Path, sandbox: str) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, AGENT, sandbox=sandbox)
    with watching_project(here) as server:
        (here.agent_folder / "server").write_text(f"{server.port} {server.token}")
        receipt = run_plan(here, 0)
    found, statuses = json.loads((here.agent_folder / "outcome").read_text())
    assert statuses == ["403", "403"]
    assert found is (sandbox == OFF)
    state = FileStore(run_folder(here)).state()
    assert not [entry for entry in state.notes if entry.type == user_messages.HINT]
    assert any("watch: hint" in line for line in receipt["refused"]), receipt
    assert Path(os.environ["BRIDLE_HOME"], "watch-token").exists()
