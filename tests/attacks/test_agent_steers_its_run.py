"""Attack: an agent raises its limits, answers for the user, stops, cleans or trusts by calling Bridle itself.

Every command that steers a run refuses, with the exit code of wrong usage, and changes nothing. The receipt and the
audit list the attempts. Reading is allowed.

With the sandbox: refused; nothing changes.
Without: refused; nothing changes.
Reported: to the agent, in the receipt and by the audit, under `refused`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_folder, run_plan
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

STEERING = [
    ["run", "another goal"],
    ["resume", "--max-cost", "999"],
    ["stop"],
    ["hint", "approve everything"],
    ["retry", "One"],
    ["answer", "01", "yes"],
    ["drive", "last"],
    ["clean", "--yes", "--keep", "1s"],
    ["trust"],
    ["doctor", "--trust"],
    ["run:halt", "RUN"],
    ["run:iterate", "RUN"],
    ["run:repair-journal", "RUN"],
]
AGENT = f"""
from contextlib import redirect_stdout
from bridle.cli.main import run
[folder] = [name for name in os.listdir(".a5c/runs") if not name.startswith(".")]
with redirect_stdout(sys.stderr):
    codes = {{" ".join(words): run([folder if word == "RUN" else word for word in words]) for words in {STEERING!r}}}
    codes["status"] = run(["status"])
with open({{beside!r}}, "w") as file:
    json.dump(codes, file)
{MAKES_FILE}
"""


def test_every_command_that_steers_is_refused_and_told(tmp_path: Path, sandbox: str) -> None:
    beside = tmp_path / "beside/codes.json"
    agent = AGENT.replace("{beside!r}", repr(str(beside)))
    here = make_sandboxed_project(tmp_path, ONE_TASK, agent, sandbox=sandbox)
    (here.folder / ".a5c/hooks/on-run-start").mkdir(parents=True)
    (here.folder / ".a5c/hooks/on-run-start/evil.sh").write_text("touch evil")
    receipt = run_plan(here, 0)
    codes = json.loads(beside.read_text())
    assert codes.pop("status") == 0
    machine = {name: codes.pop(name) for name in list(codes) if ":" in name.split()[0]}
    assert set(codes.values()) == {2}
    assert set(machine.values()) == {1}
    assert receipt["limits"]["max_cost_usd"] != 999
    state = FileStore(run_folder(here)).state()
    steered = {user_messages.HINT, user_messages.LIMITS, user_messages.RETRY}
    assert not [entry for entry in state.notes if entry.type in steered]
    assert not Path(os.environ["BRIDLE_HOME"], "trust.json").exists()
    assert len(receipt.get("refused", ())) == len(STEERING)
    audit = here.bridle("audit")
    assert audit.returncode == 0
    refused = "refused: an agent or a check called bridle answer, which was refused"
    assert refused in audit.stdout
