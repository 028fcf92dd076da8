"""Attack: an agent reports a cost below the price of its tokens, and lowers the amounts in `budget.json`.

The attacker wants to spend more than `--max-cost`. The price of the tokens counts instead, and so do the amounts and
limits from before the agent; both are printed. The run's own limit is computed from the journal.

With the sandbox: the file is read-only; the price of the tokens counts.
Without: the price of the tokens counts, and so do the amounts from before.
Reported: on stderr.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.run import budget
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, receipt_of
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

BUDGET = ".ralph/state/budget.json"
AGENT = """
try:
    with open(".ralph/state/budget.json", "w") as file:
        json.dump({"total_cost_usd": 0, "max_cost_usd": 9999, "iterations": 0, "max_iterations": None}, file)
except OSError:
    pass
show(type="result", subtype="success", is_error=False, result="no", num_turns=1, duration_ms=1, total_cost_usd=0.0001,
     usage={"input_tokens": 1000000, "output_tokens": 0}, permission_denials=[], structured_output=answer)
sys.exit(0)
"""


def test_the_price_and_the_amounts_from_before_count(tmp_path: Path, sandbox: str) -> None:
    here = make_sandboxed_project(tmp_path, ONE_TASK, AGENT, sandbox=sandbox)
    path = here.folder / BUDGET
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"total_cost_usd": 1, "max_cost_usd": 50, "iterations": 3, "max_iterations": None}))
    done = here.bridle("run", "PLAN.md", "--json", "--max-cost", "5")
    receipt = receipt_of(done, 3)
    assert receipt["cost_usd"] == pytest.approx(3, abs=0.001)
    assert len(here.calls()) == 1, "another one would exceed the limit"
    assert "claude reported 0.0001 USD for tokens whose price is 3.0000 USD; the price counts" in done.stderr
    changed = f"{BUDGET} was changed while an agent ran; the amounts and limits from before count"
    assert (changed in done.stderr) == (sandbox == OFF)
    spent = json.loads(path.read_text())
    assert (spent["max_cost_usd"], spent["iterations"]) == (50, 4)
    assert spent["total_cost_usd"] == pytest.approx(4, abs=0.001)


def test_limits_that_it_adds_do_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = budget.read(tmp_path)
    path = budget.budget_file(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"total_cost_usd": 0, "max_cost_usd": 0, "iterations": 0, "max_iterations": 9999}))
    after = budget.add(tmp_path, budget.Cost(1.0, "agent"), before=before, say=print)
    assert (after.max_cost_usd, after.max_iterations, after.known_cost_usd) == (None, None, 1.0)
    assert f"{BUDGET} was changed while an agent ran; the amounts and limits from before" in capsys.readouterr().out
    path.write_text(json.dumps({"total_cost_usd": 1, "max_cost_usd": 5, "iterations": 1, "max_iterations": None}))
    lowered = budget.add(tmp_path, budget.Cost(1.0, "agent"), before=replace(after, max_cost_usd=9.0), say=print)
    assert lowered.max_cost_usd == 5, "you can lower your own while an agent runs"


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_a_damaged_file_is_written_again(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"open({BUDGET!r}, 'w').write('[')\nopen('one', 'w').close()")
    done = here.bridle("run", "PLAN.md", "--json")
    assert receipt_of(done, 0)["cost_usd"] == 0.01
    assert f"{BUDGET} was damaged while an agent ran; the amounts from before count" in done.stderr
    assert json.loads((here.folder / BUDGET).read_text())["total_cost_usd"] == 0.01
