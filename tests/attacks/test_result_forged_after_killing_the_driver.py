"""Attack: an agent kills the driver and writes its own result into the journal; the user then continues the run.

A killed driver cannot refuse a result, and the next one takes those before it for results of its predecessor. But the
driver notes in BRIDLE_HOME which of its effects are being executed: one of these cannot have a result.

With the sandbox: impossible; the agent sees no process of the host, and the journal is read-only.
Without: `resume` refuses the run, unless the agent has removed the note too, which it can.
Reported: by `resume` and by the audit, which name the entry.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.engine.fixtures.driven_runs import wait_until
from tests.loop.fixtures.loop_commands import ONE_TASK, run_folder, verdicts
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

AGENT = """
from pathlib import Path
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.file_store import FileStore
[folder] = Path(".a5c/runs").glob("[!.]*")
store = FileStore(folder)
[effect] = store.position().pending
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(") ")[2].split()[1])
outcome, stopped = "forged", []
if number == 1:
    try:
        above = [os.getppid(), parent(os.getppid())]
        # Its supervisor and the keeper would end it a second after the driver.
        for pid in [pid for pid in above if pid > 1]:
            os.kill(pid, 19)
            stopped.append(pid)
        os.kill(parent(above[-1]), 9)
        with store.write("attacker") as writer:
            writer.resolve(effect, Posted(OK, value={"ending": "done"}, started_at="", finished_at=""))
    except Exception as error:
        outcome = repr(error)
    finally:
        Path(BESIDE + ".new").write_text(outcome)
        os.rename(BESIDE + ".new", BESIDE)
        for pid in stopped:
            os.kill(pid, 18)
open("one", "w").close()
"""


def test_the_run_is_not_continued(tmp_path: Path, sandbox: str) -> None:
    beside = tmp_path / "beside/error"
    here = make_sandboxed_project(tmp_path, ONE_TASK, AGENT.replace("BESIDE", repr(str(beside))), sandbox=sandbox)
    done = here.bridle("run", "PLAN.md", "--json")
    if sandbox != OFF:
        assert verdicts(json.loads(done.stdout)) == {"One": "done"}
        assert "FileNotFoundError" in beside.read_text(), "it sees no process of the host"
        return
    assert done.returncode == -signal.SIGKILL
    wait_until(beside.exists)
    assert beside.read_text() == "forged"
    forged = max((run_folder(here) / "journal").iterdir())
    for _ in range(2):
        resumed = here.bridle("resume")
        assert resumed.returncode == 1, resumed.stderr
        assert f"journal/{forged.name} has a result of bridle.work that no driver wrote" in resumed.stderr
    assert max((run_folder(here) / "journal").iterdir()) == forged
    audit = here.bridle("audit", "last")
    assert audit.returncode == 1
    assert f"{forged.name}: no driver wrote this result of bridle.work" in audit.stdout
