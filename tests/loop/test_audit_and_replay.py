"""A finished run is decided again with no agent, and a changed byte in any of its files is found and named."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from bridle.ground import own_runs
from bridle.ground.home import bridle_home
from bridle.journal.format import codec
from bridle.journal.stores.chain_file import read_chain
from bridle.journal.upkeep.audit import audit
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, in_background
from tests.run.fixtures.fake_agent import wait_until

pytestmark = pytest.mark.xdist_group("audited")  # one run for all of them

PLAN = "# Two\n\nChecks: `echo guarded`\n\n## One\nCheck: `sh check.sh`\n\n## Two\nMake two.\n"
# One is red at first, and edits what it may not; its check prints something.
AGENT = """
if task == "One" and number == 1: open("check.sh", "w").write("true\\n")
else: open(task.lower(), "w").close()
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Path]:
    """A run that has come to its end."""
    here = make_project(tmp_path_factory.mktemp("audited"), PLAN, AGENT, **{"check.sh": "echo looked; test -f one\n"})
    done = here.bridle("run")
    assert done.returncode == 0, done.stderr
    return here, next((here.folder / ".a5c/runs").glob("[!.]*"))


def test_it_agrees_and_is_in_order_and_no_agent_is_started(finished: tuple[Project, Path]) -> None:
    here, run = finished
    started = len(here.calls())
    replay, audited = (here.bridle(name, BRIDLE_CLAUDE="/nowhere") for name in ("replay", "audit"))
    entries = len(list((run / "journal").iterdir()))
    effects = len(list((run / "tasks").iterdir()))
    assert (replay.returncode, replay.stderr) == (0, "")
    assert replay.stdout == f"{run.name} (completed) agrees: {effects} effects, {entries} entries\n"
    assert (audited.returncode, audited.stderr) == (0, "")
    assert re.fullmatch(
        rf"{run.name} has no problems: {entries} entries, {effects} effects, \d+ files read; "
        rf"chain {entries} sha256:[0-9a-f]{{64}}(?:; not covered by digests: bridle-[^\n]+)?\n",
        audited.stdout,
    )
    assert len(here.calls()) == started


def test_every_commit_names_the_entry_that_requested_it_and_the_head_of_the_journal(
    finished: tuple[Project, Path],
) -> None:
    here, run = finished
    document = json.loads(here.bridle("status", "--json").stdout)
    chain = read_chain(run)
    assert chain is not None
    assert document["journal"] == {"sequence": len(chain.links), "head": f"sha256:{chain.links[-1].head}"}
    requests = [
        task.name for task in (run / "tasks").iterdir() if '"bridle.commit"' in (task / "task.json").read_text()
    ]
    asked = {}
    for file in sorted((run / "journal").iterdir()):
        data = json.loads(file.read_text())
        if data["type"] == "EFFECT_REQUESTED" and data["data"]["effectId"] in requests:
            asked[int(file.name[:6])] = f"{int(file.name[:6])} sha256:{chain.links[int(file.name[:6]) - 1].head}"
    form = "--format=%(trailers:key=Bridle-Journal,valueonly)"
    assert [here.git("log", "-1", form, commit) for commit in document["commits"]] == list(asked.values())


def result_of(run: Path, kind: str) -> Path:
    """The result of the first effect of a kind."""
    for task in sorted((run / "tasks").iterdir()):
        if json.loads((task / "task.json").read_text())["kind"] == kind:
            return task / "result.json"
    raise AssertionError(f"there is no {kind}")


KINDS: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "inputs": (lambda run: run / "inputs.json", "Make two", "Make Two"),
    "run.json": (lambda run: run / "run.json", "bridle/loop", "bridle/loup"),
    "receipt": (lambda run: run / "state/output.json", '"done"', '"dome"'),
    "task": (lambda run: result_of(run, "bridle.commit").with_name("task.json"), "0.02", "0.01"),
    "result of work": (lambda run: result_of(run, "bridle.work"), "I did One", "I did Ono"),
    "result of a check": (lambda run: result_of(run, "bridle.check"), '"exit_code": 1', '"exit_code": 2'),
    "prompt": (lambda run: min((run / "prompts").iterdir()), "**One**", "**Ono**"),
    "start": (lambda run: run / "bridle-origin.json", "check.sh", "chuck.sh"),
    "agent's log": (lambda run: first(run, ".ralph/logs/claude", ".ndjson"), "total_cost", "tutal_cost"),
    "check's log": (lambda run: first(run, ".ralph/logs/checks", ".log"), "looked", "hooked"),
}


def first(run: Path, folder: str, ending: str) -> Path:
    """The oldest file of a folder of the repository."""
    return min(path for path in (run.parents[2] / folder).iterdir() if path.name.endswith(ending))


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_is_found_and_named(finished: tuple[Project, Path], kind: str, tmp_path: Path) -> None:
    here, run = finished
    find, old, new = KINDS[kind]
    path = find(run)
    kept = shutil.copy2(path, tmp_path / "kept")
    text = path.read_text()
    assert old in text, text
    path.write_text(text.replace(old, new, 1))
    try:
        done, document = here.bridle("audit"), json.loads(here.bridle("audit", "--json").stdout)
    finally:
        shutil.copy2(kept, path)
    assert done.returncode == 1
    *wrong, last = done.stdout.splitlines()
    entry = r"journal/\d{6}\.\w{26}\.json"
    assert [line for line in wrong if re.fullmatch(rf"wrong: {path}: it was changed after {entry} was written", line)]
    named = {Path(run / one["file"]).resolve() for one in document["wrong"]}
    assert path in named <= {path, run / "state/bridle.pack"}  # what is kept of it to be quick differs now, too
    assert last.startswith(f"{run.name} has {len(wrong)} {'problem' if len(wrong) == 1 else 'problems'}: ")
    assert audit(run).is_good


def test_a_changed_entry_is_found_and_cannot_be_replayed(finished: tuple[Project, Path], tmp_path: Path) -> None:
    here, run = finished
    path = sorted((run / "journal").iterdir())[9]
    kept = shutil.copy2(path, tmp_path / "kept")
    path.write_text(path.read_text().replace("Z", "z", 1))
    try:
        done, replay = here.bridle("audit"), here.bridle("replay")
    finally:
        shutil.copy2(kept, path)
    assert (done.returncode, replay.returncode) == (1, 1)
    assert f"wrong: {path}: its checksum does not match: it was changed" in done.stdout
    assert str(path) in replay.stderr
    assert replay.stdout == ""


def test_a_changed_result_of_a_check_makes_another_decision_and_the_replay_names_it(
    finished: tuple[Project, Path], tmp_path: Path
) -> None:
    """A red check is made green: then the next thing to do would have been another."""
    here, run = finished
    tasks = [one for one in sorted((run / "tasks").iterdir()) if '"after"' in (one / "task.json").read_text()]
    path = next(one / "result.json" for one in tasks if '"bridle.check"' in (one / "task.json").read_text())
    kept = shutil.copytree(run, tmp_path / "kept")
    path.write_text(path.read_text().replace('"passed": false', '"passed": true'))
    forge_digest(run, path)
    (run / "state/bridle.pack").unlink()
    try:
        done = here.bridle("replay")
    finally:
        shutil.rmtree(run)
        shutil.copytree(kept, run)
    assert done.returncode == 1, done.stdout
    assert re.match(r"differs at \d{6}\.\w{26}\.json: ", done.stdout), done.stdout
    assert "bridle.commit" in done.stdout
    assert "bridle.work" in done.stdout


def forge_digest(run: Path, path: Path) -> None:
    """Record the present digest of a result in the entry that refers to it."""
    for file in (run / "journal").iterdir():
        seq, ulid, _ = file.name.split(".")
        entry = codec.decode(int(seq), ulid, file.read_bytes())
        if entry.type == "EFFECT_RESOLVED" and entry.data["effectId"] == path.parent.name:
            data = {**entry.data, "resultSha256": sha256(path.read_bytes()).hexdigest()}
            file.write_bytes(codec.encode(entry.type, entry.recorded_at, data))


@pytest.mark.parametrize("command", ["status", "resume", "replay", "run:iterate"])
def test_a_changed_result_of_a_completed_run_is_refused(
    finished: tuple[Project, Path], command: str, tmp_path: Path
) -> None:
    here, run = finished
    own_runs.record(run, bridle_home(os.environ))  # each test has a home of its own
    path = result_of(run, "bridle.check")
    kept = shutil.copy2(path, tmp_path / "kept")
    path.write_text(path.read_text().replace('"exit_code": 1', '"exit_code": 0'))
    try:
        done = here.bridle(command, run.name)
    finally:
        shutil.copy2(kept, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{path} of this run is invalid: it was changed after it was written" in done.stderr


def test_a_log_that_was_removed_is_a_fault(finished: tuple[Project, Path], tmp_path: Path) -> None:
    here, run = finished
    path = first(run, ".ralph/logs/claude", ".ndjson")
    shutil.move(path, tmp_path / "kept")
    try:
        done = here.bridle("audit")
    finally:
        shutil.move(tmp_path / "kept", path)
    assert done.returncode == 1
    assert re.search(rf"(?m)^wrong: {path}: it is missing; journal/\S+ refers to it$", done.stdout)


def test_a_run_at_work_has_no_problems(tmp_path: Path) -> None:
    """It is compared up to the entry that was the newest when the comparison began."""
    titles = [f"T{number}" for number in range(8)]
    plan = "# T\n" + "".join(f"\n## {title}\nCheck: `test -f {title.lower()}`\n" for title in titles)
    here = make_project(tmp_path, plan, MAKES_FILE)
    found = []
    with in_background(here, "run", "PLAN.md", "--json", "--parallel", "2") as child:
        wait_until(here.calls)
        while child.poll() is None:
            found += [here.bridle(name) for name in ("audit", "replay")]
    assert child.returncode == 0
    assert [(done.stdout, done.stderr) for done in found if done.returncode != 0] == []
    assert any("(waiting) agrees" in done.stdout for done in found)
