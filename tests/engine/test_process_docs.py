"""The worked processes of docs/processes.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bridle.engine.iterate.iteration_report import Iteration
from tests.engine.fixtures.iterated_runs import IteratedRun, task_of

PAGE = Path(__file__).parents[2] / "docs" / "processes.md"
NAMED_BLOCK = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)


def bench_of(folder: Path, name: str, inputs: Any) -> IteratedRun:
    """A run of one of the page's processes, as it stands on the page."""
    sources = dict(NAMED_BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    iterated = IteratedRun(folder, "", inputs=inputs)
    iterated.process.write_text(sources[name], encoding="utf-8")
    return iterated


def waiting(found: Iteration) -> list[str]:
    """What waits, by title."""
    return [str(action.task.document["title"]) for action in found.actions]


def answer(iterated: IteratedRun, found: Iteration, *values: Any) -> Iteration:
    """Give everything that waits its result, in order, and iterate."""
    for action, value in zip(found.actions, values, strict=True):
        iterated.post(action.effect.step_id, value)
    return iterated.iterate()


def test_every_worked_process_of_the_page_is_run_here() -> None:
    names = [name for name, _ in NAMED_BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    assert names == ["gate.py", "fan_out.py", "score.py"]


def test_the_first_example_of_the_page(tmp_path: Path) -> None:
    source = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    iterated = IteratedRun(tmp_path, "", inputs={"path": "a.py"})
    iterated.process.write_text(source, encoding="utf-8")
    found = iterated.iterate()
    assert task_of(found.actions[0])["agent"] == {"prompt": "Review a.py and list the faults."}
    found = answer(iterated, found, ["no faults"])
    assert (found.status, waiting(found)) == ("waiting", ["ship"])
    assert answer(iterated, found, {"approved": True}).output == {"approved": True}


def test_a_plan_that_is_approved_is_implemented_and_reviewed_until_it_is_good(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "gate.py", {"goal": "faster tests"})
    found = iterated.iterate()
    assert waiting(found) == ["Plan the change"]
    found = answer(iterated, found, "buy a computer")
    assert found.status == "waiting"
    assert task_of(found.actions[0])["metadata"]["payload"]["plan"] == "buy a computer"
    found = answer(iterated, found, {"approved": False, "feedback": "cheaper"})
    assert "Mind this: cheaper" in task_of(found.actions[0])["agent"]["prompt"]
    found = answer(iterated, found, "delete the slow ones")
    found = answer(iterated, found, {"approved": True})
    assert waiting(found) == ["Implement, round 1"]
    found = answer(iterated, found, "done")
    assert waiting(found) == ["Review, round 1"]
    found = answer(iterated, found, {"faults": ["one is left"]})
    assert waiting(found) == ["Implement, round 2"]
    assert "one is left" in task_of(found.actions[0])["agent"]["prompt"]
    found = answer(iterated, answer(iterated, found, "done"), {"faults": []})
    assert found.output == {"plan": "delete the slow ones", "rounds": 2}


def test_a_plan_that_is_never_good_is_halted(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "gate.py", {"goal": "faster tests"})
    found = answer(iterated, answer(iterated, iterated.iterate(), "a plan"), {"approved": True})
    for _ in range(3):
        found = answer(iterated, answer(iterated, found, "done"), {"faults": ["again"]})
    assert found.status == "halted"
    assert found.halt == {"reason": "three rounds and still faults", "payload": {"faults": ["again"]}}


def test_a_refusal_without_a_word_halts_and_approves_nothing(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "gate.py", {"goal": "faster tests"})
    found = answer(iterated, answer(iterated, iterated.iterate(), "a plan"), {"approved": False})
    assert found.status == "halted"


def test_a_fan_out_goes_on_where_one_fails(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "fan_out.py", {"paths": ["a.py", "b.py", "c.py"]})
    found = iterated.iterate()
    assert waiting(found) == ["Document a.py", "Document b.py", "Document c.py"]
    assert found.actions[0].effect.key == "demo:document:a.py:document"
    iterated.post("document:c.py", "three docstrings")
    iterated.fail("document:b.py", {"name": "Timeout", "message": "took too long"})
    assert waiting(iterated.iterate()) == ["Document a.py"]
    iterated.post("document:a.py", "one docstring")
    found = iterated.iterate()
    assert waiting(found) == ["Check"]
    assert answer(iterated, found, {"exitCode": 0}).output == {"done": ["a.py", "c.py"], "failed": ["b.py"]}
    words = [entry.data["message"] for entry in iterated.entries() if entry.type == "PROCESS_LOG"]
    assert words == ["b.py: Timeout: took too long"]


def test_a_file_more_while_the_fan_out_is_under_way_is_done_too(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "fan_out.py", {"paths": ["a.py", "b.py"]})
    iterated.iterate()
    iterated.post("document:b.py", "done")
    source = iterated.process.read_text()
    iterated.process.write_text(
        source.replace('for path in inputs["paths"]))', 'for path in ["new.py", *inputs["paths"]]))')
    )
    assert waiting(iterated.iterate()) == ["Document new.py", "Document a.py"]


def test_a_retry_ends_with_the_first_score_that_is_good_enough(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "score.py", {"brief": "a poem", "tries": 3, "enough": 80})
    found = answer(iterated, iterated.iterate(), "roses are red")
    assert waiting(found) == ["Score try 1"]
    found = answer(iterated, found, {"score": 40, "lacks": "feeling"})
    assert (found.status, found.reason) == ("waiting", "sleep-waiting")
    iterated.clock.move(seconds=59)
    assert iterated.iterate().status == "waiting"
    iterated.clock.move(seconds=1)
    found = iterated.iterate()
    assert "The last try lacked: feeling" in task_of(found.actions[0])["agent"]["prompt"]
    found = answer(iterated, answer(iterated, found, "O rose"), {"score": 90, "lacks": ""})
    assert found.output == {"text": "O rose", "attempt": 2, "score": 90, "lacks": ""}


def test_a_retry_that_never_gets_there_gives_its_best(tmp_path: Path) -> None:
    iterated = bench_of(tmp_path, "score.py", {"brief": "a poem", "tries": 2, "enough": 80})
    found = answer(iterated, answer(iterated, iterated.iterate(), "first"), {"score": 50})
    iterated.clock.move(minutes=1)
    found = answer(iterated, answer(iterated, iterated.iterate(), "second"), {"score": 30})
    assert found.output == {"text": "first", "attempt": 1, "score": 50}
