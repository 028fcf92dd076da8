"""`bridle inspect`, run as a person or a program runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.parse_cases import CASES_FILE, Case, arguments_of, differences, load_cases, stream_of
from tests.wire.fixtures.claude_recordings import FOLDER, NAMES, exit_code_of
from tests.wire.fixtures.stream_lines import assistant_line, call, encode_lines, failed, init, result

# A hang is a failure, not a wait for ever; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
MEBIBYTE = 1024 * 1024
CASES = load_cases(CASES_FILE, mode="inspect")
GOOD = encode_lines(
    [init(claude_code_version="2.1.9", apiKeySource="claude.ai"), assistant_line("Hello"), result("Hello")]
)


def inspect(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(BRIDLE), "inspect", *arguments],
        input=stdin,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
        env=os.environ | environment,
    )


def document(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    done = inspect(*arguments, "--json", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    read: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    return read


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_cases_of_the_contract(case: Case, tmp_path: Path) -> None:
    done = inspect("-", *arguments_of(case, tmp_path), stdin=stream_of(case))
    assert (done.returncode, done.stderr) == (0, b"")
    assert not differences(case["expected"], json.loads(done.stdout))


@pytest.mark.parametrize("name", ["05-permission-denied", "07-full-401", "05e-bypass", "13b-bg-agent"])
def test_a_recording_has_its_golden_document(name: str) -> None:
    stderr = FOLDER / f"{name}.stderr"
    arguments = ["--stderr", str(stderr)] if stderr.exists() else []
    golden = Path(__file__).parents[3] / "wire" / "record" / "golden" / f"{name}.json"
    found = document(str(FOLDER / f"{name}.ndjson"), "--exit-code", str(exit_code_of(name)), *arguments)
    assert found == json.loads(golden.read_text(encoding="utf-8"))


def test_a_file_and_stdin_give_the_same_document() -> None:
    path = FOLDER / f"{NAMES[0]}.ndjson"
    assert document(str(path)) == document("-", stdin=path.read_bytes())


def test_lone_surrogates_and_numbers_that_json_cannot_say_are_printed_as_json() -> None:
    lines = ['{"type":"assistant","message":{"content":[{"type":"text","text":"\\udcb2"}]}}']
    lines += ['{"type":"result","result":"a","structured_output":[NaN,{"x":-Infinity}],"duration_ms":1e999}']
    found = document("-", stdin=encode_lines(lines))
    assert found["output"] == "\ufffd"
    assert found["structured_output"] == [None, {"x": None}]
    assert found["duration_ms"] is None


@pytest.mark.parametrize(
    "arguments", [["missing.ndjson"], ["."], [], ["-", "--stderr", "missing"], ["-", "--agent", "x"]]
)
def test_what_cannot_be_read_is_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    plain = inspect(*arguments)
    assert (plain.returncode, plain.stdout) == (2, b"")
    assert plain.stderr.startswith(b"bridle: ")
    as_json = inspect(*arguments, "--json")
    assert (as_json.returncode, as_json.stdout) == (2, b"")
    assert json.loads(as_json.stderr)["error"] == "USAGE"


def test_the_file_that_cannot_be_read_is_the_one_that_the_remedy_means() -> None:
    assert b"holds the agent's stderr with --stderr" in inspect("-", "--stderr", "missing").stderr
    assert b"holds the agent's stdout" in inspect("missing.ndjson").stderr


def test_the_policy_and_the_heuristics_can_be_chosen() -> None:
    asked = encode_lines([init(), assistant_line("Which?", stop_reason="end_turn"), result("Which?", num_turns=1)])
    assert document("-", stdin=asked)["error_category"] == "interactive"
    assert document("-", "--no-hang-heuristic", stdin=asked)["error_category"] is None
    empty = encode_lines([init()])
    assert document("-", stdin=empty)["error_category"] == "parse"
    assert document("-", "--policy", "lenient", stdin=empty)["error_category"] is None


def test_how_the_process_ended_can_be_told() -> None:
    half = encode_lines([init(), assistant_line("half")])
    late = document("-", "--timed-out", "--exit-code", "-9", stdin=half)
    assert (late["error"], late["exit_code"], late["final_text"]) == ("timeout", -1, "half")
    assert document("-", "--expect-session", "another", stdin=GOOD)["session_forked"] is True


# For a log that Bridle kept, the files beside it say how the run ended.


def kept_log(folder: Path, stream: bytes, stderr: str = "", **meta: object) -> Path:
    log = folder / "20261115-coder-task.ndjson"
    log.write_bytes(stream)
    (folder / "20261115-coder-task.stderr").write_text(stderr, encoding="utf-8")
    (folder / "20261115-coder-task.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return log


def test_a_kept_log_is_judged_as_the_run_was(tmp_path: Path) -> None:
    log = kept_log(tmp_path, GOOD, "boom", exit_code=3, expected_session="s", agent="claude")
    found = document(str(log))
    assert (found["error"], found["exit_code"], found["session_forked"]) == ("boom", 3, True)


def test_a_kept_log_of_a_run_that_was_ended_after_its_result_is_a_success(tmp_path: Path) -> None:
    found = document(str(kept_log(tmp_path, GOOD, "terminated", exit_code=-15, ended_by_us=True)))
    assert (found["error"], found["exit_code"], found["succeeded_cleanly"]) == (None, 0, True)


def test_a_kept_log_of_a_run_out_of_time_is_a_time_out(tmp_path: Path) -> None:
    found = document(str(kept_log(tmp_path, encode_lines([init()]), exit_code=-9, timed_out=True)))
    assert (found["error"], found["exit_code"]) == ("timeout", -1)


def test_a_kept_log_remembers_that_the_heuristics_were_off(tmp_path: Path) -> None:
    asked = encode_lines([init(), assistant_line("Which?", stop_reason="end_turn"), result("Which?", num_turns=1)])
    assert document(str(kept_log(tmp_path, asked, exit_code=0, hang_heuristic=False)))["error_category"] is None


def test_flags_win_over_what_was_kept(tmp_path: Path) -> None:
    log = kept_log(tmp_path, encode_lines([init()]), "boom", exit_code=3, expected_session="s", timed_out=True)
    other = tmp_path / "other"
    other.write_text("louder", encoding="utf-8")
    assert document(str(log), "--stderr", str(other))["warnings"][-1] == "stderr: louder"
    found = document(str(log), "--exit-code", "0")
    assert (found["error"], found["exit_code"], found["session_forked"]) == (None, 0, False)


@pytest.mark.parametrize("meta", [{"agent": "claude"}, {"exit_code": None, "lost": True, "ended": "now"}])
def test_a_log_whose_end_bridle_did_not_see_is_interrupted_in_words_and_in_json(
    tmp_path: Path, meta: dict[str, Any]
) -> None:
    log = kept_log(tmp_path, encode_lines([init(), assistant_line("half")]), **meta)
    found = document(str(log))
    assert (found["error"], found["error_category"]) == ("interrupted, or not ended yet", "process")
    assert (found["run_error"], found["succeeded"], found["exit_code"]) == (True, False, None)
    assert inspect(str(log)).stdout.startswith(b"failed (process): interrupted, or not ended yet\n")
    assert b"\nexit code unknown\n" in inspect(str(log)).stdout
    whole = document(str(kept_log(tmp_path, GOOD, **meta)))
    assert (whole["error"], whole["succeeded_cleanly"], whole["exit_code"]) == (None, True, 0)


def test_an_interrupted_log_says_the_same_in_words_and_in_json(tmp_path: Path) -> None:
    stream = encode_lines([init(), assistant_line("half")])
    log = kept_log(tmp_path, stream, exit_code=0, ended="now", fault="interrupted", interrupted=True)
    found = document(str(log))
    assert (found["error"], found["succeeded"], found["run_error"]) == ("interrupted", False, True)
    assert inspect(str(log)).stdout.startswith(b"failed (process): interrupted\n")


def test_a_broken_file_beside_a_log_is_reported(tmp_path: Path) -> None:
    log = kept_log(tmp_path, GOOD)
    log.with_name("20261115-coder-task.meta.json").write_text("{", encoding="utf-8")
    done = inspect(str(log))
    assert done.returncode == 2
    assert b"meta.json is not valid JSON" in done.stderr
    assert document(str(log), "--exit-code", "0")["succeeded"] is True


# For people.


def test_the_summary_begins_with_the_verdict() -> None:
    done = inspect("-", stdin=GOOD)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "succeeded",
        "agent     2.1.9, claude-sonnet-4-5",
        "auth      apiKeySource claude.ai",
        "session   5f0c7a52-0000-4000-8000-000000000001",
        "folder    /project",
        "turns     2 turns, 0.0100 USD",
        "tokens    100 in, 20 out",
        "exit code 0",
        "answer    Hello",
    ]


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ([init(), failed("401 no")], "failed (auth): 401 no"),
        ([init(), failed(..., content="no credit")], "failed (api): no credit"),
        ([init(), result(..., subtype="error_max_turns", errors=["2 turns"])], "failed: 2 turns"),
        ([init(), result(permission_denials="Bash")], "failed (permission): permission was refused for Bash"),
        ([init()], "failed (parse): the agent ended without a result (exit code 0)"),
        ([init(), assistant_line("a")], "succeeded, degraded: no result, answer assembled from the stream"),
        (
            [init(), assistant_line("a"), result("")],
            "succeeded, degraded: the result has no text, answer assembled from the stream",
        ),
        (
            [init(), assistant_line(call("AskUserQuestion"), stop_reason="end_turn"), result("a", num_turns=1)],
            "succeeded, but doubtful (interactive): see the warnings",
        ),
    ],
)
def test_each_verdict_has_its_words(lines: list[Any], verdict: str) -> None:
    assert inspect("-", stdin=encode_lines(lines)).stdout.decode().splitlines()[0] == verdict


def test_the_lenient_verdict_says_what_it_tolerates() -> None:
    cut = encode_lines([init(), assistant_line("a")])
    done = inspect("-", "--policy", "lenient", "--exit-code", "3", stdin=cut)
    reason = "the agent ended with exit code 3 and no result"
    assert done.stdout.decode().splitlines()[0] == f"not a failure by the lenient policy: {reason}"
    failed_late = inspect("-", "--policy", "lenient", "--exit-code", "1", stdin=GOOD).stdout.decode()
    assert failed_late.startswith("not a failure by the lenient policy: the agent ended with exit code 1 after")


def test_a_cost_that_is_not_reported_is_said() -> None:
    usage = {"input_tokens": 14291, "output_tokens": 2}
    cut = result(..., subtype="error_during_execution", is_error=True, total_cost_usd=0, usage={"input_tokens": 0})
    printed = inspect("-", stdin=encode_lines([init(), assistant_line("a", usage=usage), cut])).stdout.decode()
    assert "cost not reported" in printed
    assert "USD" not in printed


def test_a_log_cannot_drive_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202eabc \r over"
    shown = inspect(
        "-", stdin=encode_lines([init(cwd=hostile), assistant_line(hostile), "\x1b[31mnoise", result(hostile)])
    ).stdout
    assert not set("\x1b\x07\x9b\u202e\r") & set(shown.decode())
    assert "\\x1b[2J" in shown.decode()


def test_the_summary_can_be_printed_in_a_narrow_locale() -> None:
    stream = encode_lines([init(), '{"type":"result","result":"\\udcb2 h\\u00e9"}'])
    done = inspect("-", stdin=stream, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\ufffd h\\xe9" in done.stdout


def test_secrets_are_masked_for_people_and_kept_for_programs() -> None:
    stream = encode_lines([init(), assistant_line("the key is hunter2hunter2"), result("the key is hunter2hunter2")])
    done = inspect("-", stdin=stream, SOME_API_KEY="hunter2hunter2")
    assert b"hunter2" not in done.stdout
    assert b"the key is ***" in done.stdout


def test_a_long_log_does_not_fill_the_memory(tmp_path: Path) -> None:
    log = tmp_path / "long.ndjson"
    line = encode_lines(
        [{"type": "user", "message": {"content": [{"type": "tool_result", "content": "x" * MEBIBYTE}]}}]
    )
    with log.open("wb") as stream:
        for _ in range(100):
            stream.write(line)
    # The peak of the process image itself: what getrusage gives includes that of the process that started it.
    script = "import sys, psutil; from bridle.cli.main import run; code = run(sys.argv[1:]); "
    script += "status = open('/proc/self/status').read() if sys.platform == 'linux' else ''; "
    script += (
        "peak = int(status.split('VmHWM:')[1].split()[0]) * 1024 if status else psutil.Process().memory_info().rss; "
    )
    script += "print(peak, file=sys.stderr); sys.exit(code)"
    command = [sys.executable, "-c", script, "inspect", str(log), "--json"]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    assert json.loads(done.stdout)["tool_results"] == 100
    assert int(done.stderr) < 80 * MEBIBYTE


def test_what_a_summary_needs_not_is_not_imported() -> None:
    script = "import sys; from bridle.cli.main import run; run(sys.argv[1:]); "
    script += "print(sorted({'rich', 'asyncio'} & set(sys.modules)), file=sys.stderr)"
    command = [sys.executable, "-c", script, "inspect", str(FOLDER / f"{NAMES[0]}.ndjson")]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    assert done.stderr.strip() == b"[]"


def test_every_field_of_the_document_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "inspect.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    assert [field for field in document("-", stdin=GOOD) if f"`{field}`" not in tables] == []
