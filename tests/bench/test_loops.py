"""What the loop's benchmark measures with: its agent, its clock, and the trace that its floor repeats."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench import loop_floor, loop_layer
from bench.loops import Starts, agent_script, gaps_of, ours, place, run_to_end
from tests.workspace.fixtures.repositories import git, make_repository

LIMIT_SECONDS = 30


def _program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o700)
    return path


def _output(argv: list[str], cwd: Path, **more: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], **more}
    return subprocess.run(argv, cwd=cwd, env=environment, check=True, capture_output=True, timeout=LIMIT_SECONDS).stdout


def test_the_agent_tells_of_its_start_changes_a_file_and_says_that_it_is_done(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    agent = _program(tmp_path / "claude", agent_script(starts, writes=True))
    lines = [json.loads(line) for line in _output([str(agent), "-p"], tmp_path).splitlines()]
    assert [line["type"] for line in lines] == ["system", "assistant", "result"]
    assert lines[-1]["structured_output"]["done"] is True
    assert (starts.read_text(), (tmp_path / "work.txt").read_text()) == ("A\n", "x\n")
    assert b"2.1" in _output([str(agent), "--version"], tmp_path)
    assert starts.read_text() == "A\n", "to ask for the version is no start"


def test_every_start_has_its_moment(tmp_path: Path) -> None:
    pipe = tmp_path / "starts"
    os.mkfifo(pipe)
    agent = _program(tmp_path / "claude", agent_script(pipe, writes=False))
    starts = Starts(pipe)
    starts.watch(time.process_time, 3)
    deadline = time.monotonic() + LIMIT_SECONDS
    for number in range(1, 4):
        _output([str(agent), "-p"], tmp_path)
        while len(starts.moments) < number and time.monotonic() < deadline:
            time.sleep(0.001)
    starts.close()
    assert len(starts.moments) == 3
    assert all(gap > 0 for gap in gaps_of(starts.moments))
    assert {1, 3} <= starts.cpu.keys()


def test_a_trace_has_what_git_was_asked_and_the_floor_does_the_same(tmp_path: Path) -> None:
    repo, log = make_repository(tmp_path / "repository").folder, tmp_path / "log"
    base = git(repo, "rev-parse", "HEAD").strip()
    shutil.copytree(repo, tmp_path / "other")
    real = shutil.which("git")
    assert real is not None
    wrapped = str(_program(tmp_path / "git", loop_floor.wrapper(log, real)))
    who = ("-c", "user.name=t", "-c", "user.email=t@t")
    agent = _program(tmp_path / "claude", agent_script(log, writes=True))
    _output([str(agent), "-p"], repo)
    _output([wrapped, "add", "-A"], repo)
    subprocess.run([wrapped, *who, "commit", "-q", "-F", "-"], cwd=repo, input=b"words\n", check=True)
    made = git(repo, "rev-parse", "HEAD").strip()
    _output([wrapped, "diff", base, made], repo)
    with log.open("a") as stream:
        stream.write("S\t100\nD\nA\n")
    trace = loop_floor.read_trace(log, repo, base)
    assert [step["kind"] for step in trace.steps] == ["A", "G", "G", "G", "S", "D", "A"]
    assert trace.steps[2]["given"] == "words\n"
    assert trace.steps[3]["argv"] == ["diff", base, "HEAD"]
    assert trace.per_iteration() == {"G": 3, "S": 1, "D": 1}
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps(trace.steps), encoding="utf-8")
    path = f"{tmp_path / 'floor'}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "floor").mkdir()
    shutil.copy(agent, tmp_path / "floor" / "claude")
    _output([sys.executable, loop_floor.__file__, "run", str(steps)], tmp_path / "other", PATH=path)
    assert git(tmp_path / "other", "log", "-1", "--format=%B").strip() == "words"


def test_the_floor_of_a_recorded_run_starts_the_same_agents_and_gits(tmp_path: Path) -> None:
    trace = loop_layer.record(tmp_path / "recorded", ours(guarded=True), 2)
    floor = loop_layer.floor_of(tmp_path, trace)
    with place(tmp_path / "floor", floor, 2, starts=tmp_path / "starts") as here:
        run_to_end(floor, here)
        assert here.starts.read_text() == "A\n" * 2
