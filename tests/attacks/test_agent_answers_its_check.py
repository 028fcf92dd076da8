"""Attack: an agent writes the result of an effect of the loop: through `task:post`, or into the journal itself.

The attacker wants its own value to count as the result of its work or of the checks. `task:post` refuses effects of the
loop. The driver knows which results it wrote: another one is refused in the journal, printed, and in the receipt.

With the sandbox: impossible; the journal is read-only.
Without: refused; the effect stays pending and its real result counts.
Reported: on stderr, in the journal and in the receipt, under `refused`.
"""

from __future__ import annotations

import json
from pathlib import Path

from bridle.journal.format.entries import RESULT_REFUSED
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.loop_commands import ONE_TASK, assert_replays, run_folder, verdicts
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

AGENT = """
from contextlib import redirect_stdout
from pathlib import Path
from bridle.cli.main import run
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.file_store import FileStore
[folder] = Path(".a5c/runs").glob("[!.]*")
store = FileStore(folder)
[effect] = store.position().pending
if number == 1:
    with redirect_stdout(sys.stderr):
        code = run(["task:post", folder.name, effect, "--status", "ok", "--value-inline", "{}"])
    Path(BESIDE).write_text(str(code))
    try:
        with store.write("attacker") as writer:
            writer.resolve(effect, Posted(OK, value={"ending": "done", "forged": True}, started_at="", finished_at=""))
    except Exception as error:
        Path(BESIDE).write_text(f"{code} {error}")
    while effect not in store.position().pending:  # until the driver has refused it
        time.sleep(0.05)
open("one", "w").close()
"""


def test_only_the_driver_resolves_effects_of_the_loop(tmp_path: Path, sandbox: str) -> None:
    beside = tmp_path / "beside/code"
    here = make_sandboxed_project(tmp_path, ONE_TASK, AGENT.replace("BESIDE", repr(str(beside))), sandbox=sandbox)
    done = here.bridle("run", "PLAN.md", "--json")
    receipt = json.loads(done.stdout)
    assert verdicts(receipt) == {"One": "done"}
    assert len(here.calls()) == 1
    assert_replays(here)
    if sandbox != OFF:
        assert beside.read_text().startswith("1 ")
        assert "Read-only file system" in beside.read_text()
        assert receipt["refused"] == ["an agent or a check called bridle task:post, which was refused"]
        return
    assert beside.read_text() == "1"
    assert "did not write that result of bridle.work" in done.stderr
    assert receipt["refused"] == [
        "an agent or a check called bridle task:post, which was refused",
        "a result of bridle.work that the driver did not write was ignored",
    ]
    store = FileStore(run_folder(here))
    state = store.state()
    assert [entry.data["kind"] for entry in state.notes if entry.type == RESULT_REFUSED] == [effects.WORK]
    [work] = [effect for effect in state.resolved if effect.kind == effects.WORK]
    assert "forged" not in json.dumps(store.result(work).value)
