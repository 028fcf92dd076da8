"""The stop-hook cases that were recorded with the other implementation, as our interface amends them.

What it deletes stays as an inactive session; durations are kept from the first iteration on; the words are ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.sessions import session_file
from bridle.journal.format import layout
from tests.hosts.fixtures.hook_project import Project, entries, session_of, stop_entries
from tests.journal.fixtures.recorded_samples import sample

FOLDER = Path(__file__).parents[1] / "stop-hook-cases"
CASES = sorted(path.name for path in FOLDER.iterdir())
FRESH = "run-fresh"


def project_of(case: Path, folder: Path) -> Project:
    """The recorded project: its run, its session, its transcript."""
    project = Project(folder)
    payload = json.loads((case / "stdin.json").read_text(encoding="utf-8"))
    project.state.mkdir(parents=True)
    path = session_file.path_of(project.state, payload["session_id"])
    path.write_bytes((case / "session.before.md").read_bytes())
    project.transcript.write_bytes((case / "transcript.jsonl").read_bytes())
    run_id = session_of(path).run_id
    if run_id == FRESH:
        project.run(run_id=FRESH)
    elif run_id:
        run = sample(run_id, project.runs)
        if run_id == "run-completed":  # recorded with another run of the same kind, created by a harness
            metadata = json.loads((run / layout.RUN_FILE).read_text(encoding="utf-8"))
            metadata |= {"completionProof": "eaf7bbbbed6caf75612e98bf3d519f51", "harness": "claude-code"}
            (run / layout.RUN_FILE).write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
    return project


def recorded(case: Path, name: str) -> Any:
    return json.loads((case / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_case_ends_as_the_interface_says(name: str, tmp_path: Path) -> None:
    case = FOLDER / name
    project = project_of(case, tmp_path)
    session_id = recorded(case, "stdin.json")["session_id"]
    path = session_file.path_of(project.state, session_id)
    before = session_of(path)
    run = project.runs / before.run_id
    count = len(entries(run)) if before.run_id else 0

    done = project.hook((case / "stdin.json").read_bytes())

    assert (done.code, done.stderr) == (0, "")
    expected, after = recorded(case, "stdout.json"), session_of(path)
    assert done.document.get("decision") == expected.get("decision")
    is_held = expected.get("decision") == "block"
    assert (after.active, after.iteration) == (is_held, before.iteration + is_held)
    assert (after.run_id, after.max_iterations, after.started_at) == (
        before.run_id,
        before.max_iterations,
        before.started_at,
    )
    if is_held:
        check_words(name, done.document, after.iteration, project)
        assert after.last_iteration_at > before.last_iteration_at
    if before.run_id:
        check_entry(recorded(case, "last-journal.json"), run, count)


def check_entry(expected: dict[str, Any], run: Path, count: int) -> None:
    last = entries(run)[-1]
    assert (last.seq, last.type) == (count + 1, expected["type"])
    assert list(last.data) == list(expected["data"]), "the same fields in the same order"
    without = {"timestamp": None}
    assert stop_entries(run)[-1] | without == expected["data"] | without


def check_words(name: str, document: dict[str, Any], iteration: int, project: Project) -> None:
    reason, prompt = document["reason"], {"04": "Build the thing", "07": "Add", "21": "Go"}[name[:2]]
    state = {"04": "waiting", "07": "completed", "21": "created"}[name[:2]]
    assert reason.startswith(f"Bridle iteration {iteration} | ")
    assert reason.endswith(f"\n\n{prompt}")
    assert document["systemMessage"] == f"Bridle iteration {iteration}/256 [{state}]"
    wanted = {
        "04": ["sleep", "run:iterate", str(project.runs / "run-parallel")],
        "07": ["run:status", "completionProof", "<promise>", "</promise>", str(project.runs / "run-completed")],
        "21": ["run:iterate", str(project.runs / FRESH)],
    }[name[:2]]
    assert [word for word in wanted if word not in reason] == []
