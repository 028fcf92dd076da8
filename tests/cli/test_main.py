"""The installed programs, started as a user or a program starts them."""

from __future__ import annotations

import json
import keyword
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bridle import __version__
from bridle.cli import command_table, exit_codes
from tests.fixtures.bridle_program import BRIDLE, BRIDLE_AGENT, LIMIT_SECONDS
from tests.fixtures.bridle_program import run_bridle as bridle

# The real dispatcher with one more row in its table: `sample`, whose module the test has written.
WITH_SAMPLE = """
from bridle.cli import command_table, main
sample = command_table.Command("sample", "", "A sample.")
sample.module = "sample"
command_table.COMMANDS["sample"] = sample
main.main()
"""


def sample(folder: Path, body: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose body is given, through the real dispatcher."""
    return _run(sample_command(folder, body, *arguments), {"PYTHONPATH": str(folder)} | environment)


def sample_command(folder: Path, body: str, *arguments: str) -> list[str]:
    lines = ["import sys, os, click", "from bridle import errors", "@click.command()"]
    lines += ["@click.option('--json', 'as_json', is_flag=True)", "@click.option('--count', type=int)"]
    lines += ["def command(as_json, count):", f"    {body}"]
    (folder / "sample.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [sys.executable, "-c", WITH_SAMPLE, "sample", *arguments]


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        env=os.environ | environment,
    )


def test_version_is_printed() -> None:
    done = bridle("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bridle {__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_what_is_built_and_names_what_is_not(arguments: tuple[str, ...]) -> None:
    done = bridle(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for command in command_table.USER_COMMANDS:
        assert command.name in done.stdout
        assert (command.summary in done.stdout) == (command.module is not None)


@pytest.mark.parametrize(
    "name", [command.name for command in command_table.COMMANDS.values() if command.module is None]
)
def test_a_command_that_is_not_built_says_so_and_exits_2(name: str) -> None:
    done = bridle(name, "anything")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`bridle {name}` is not built yet" in done.stderr


@pytest.mark.parametrize("name", ["fleet"])
def test_a_planned_command_is_known_and_not_built(name: str) -> None:
    assert command_table.COMMANDS[name].module is None
    document = json.loads(bridle(name, "anything", "--json").stderr)
    assert document["error"] == "NOT_BUILT"


def test_the_agent_program_is_the_agent_command() -> None:
    program, command = _run([str(BRIDLE_AGENT), "--version"], {}), bridle("agent", "--version")
    assert (program.returncode, program.stdout, program.stderr) == (command.returncode, command.stdout, command.stderr)
    assert program.returncode == 0
    assert program.stdout.strip()


def test_an_unknown_command_gets_the_nearest_names() -> None:
    done = bridle("inspct", "log.ndjson")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bridle: unknown command 'inspct'\n  Did you mean inspect?\n"


def test_the_name_that_other_programs_have_for_a_command_is_known() -> None:
    assert bridle("start", "PLAN.md").stderr == "bridle: unknown command 'start'\n  Did you mean run?\n"
    assert set(command_table.SYNONYMS.values()) <= set(command_table.COMMANDS)
    assert not set(command_table.SYNONYMS) & set(command_table.COMMANDS)


def test_an_unknown_command_that_resembles_nothing_gets_the_list() -> None:
    assert "`bridle --help`" in bridle("xyzzy").stderr


def test_with_json_an_error_is_one_document_on_stderr() -> None:
    done = bridle("xyzzy", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"] == "USAGE"


def test_json_after_two_dashes_is_an_argument_and_no_option() -> None:
    assert bridle("xyzzy", "--", "--json").stderr.startswith("bridle: ")


def test_every_built_command_has_help_and_a_json_option() -> None:
    for command in command_table.COMMANDS.values():
        if command.module is None:
            continue
        done = bridle(command.name, "-h" if command.name != "agent" else "--help")
        assert (done.returncode, done.stderr) == (0, "")
        if command.name == "agent":
            continue  # it has the help text and the options of `claude`
        assert done.stdout.startswith(f"Usage: bridle {command.name} ")
        assert "--json" in done.stdout


def test_a_command_that_returns_exits_0(tmp_path: Path) -> None:
    done = sample(tmp_path, "print('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    "body", ["return 7", "sys.exit(7)", "click.get_current_context().exit(7)", "raise SystemExit(7)"]
)
def test_a_command_chooses_its_exit_code(tmp_path: Path, body: str) -> None:
    assert sample(tmp_path, body).returncode == 7


@pytest.mark.parametrize("arguments", [("--count", "many"), ("--unheard-of",), ("extra",)])
def test_wrong_usage_of_a_command_exits_2_with_a_hint(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = sample(tmp_path, "print('never')", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bridle: ")
    assert "Run `bridle sample --help` for usage." in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        ("UsageError", "USAGE", 2),
        ("ScriptError", "BAD_SCRIPT", 2),
        ("AgentNotFound", "AGENT_NOT_FOUND", 5),
        ("AgentNotReady", "AGENT_NOT_READY", 5),
        ("DiskError", "DISK", 1),
        ("InternalError", "INTERNAL", 1),
    ],
)
def test_the_exit_code_says_whose_fault_it_was(tmp_path: Path, error: str, code: str, exit_code: int) -> None:
    body = f"raise errors.{error}('it broke', remedy='fix it')"
    words, document = sample(tmp_path, body), sample(tmp_path, body, "--json")
    assert (words.returncode, words.stdout, words.stderr) == (exit_code, "", "bridle: it broke\n  fix it\n")
    assert (document.returncode, document.stdout) == (exit_code, "")
    assert json.loads(document.stderr) == {"error": code, "message": "it broke", "remedy": "fix it"}


def test_a_defect_is_one_line_and_its_place_is_shown_on_demand(tmp_path: Path) -> None:
    short = sample(tmp_path, "raise ZeroDivisionError('by zero')")
    assert short.returncode == 1
    assert short.stderr.startswith("bridle: unexpected ZeroDivisionError: by zero\n")
    assert "Traceback" not in short.stderr
    full = sample(tmp_path, "raise ZeroDivisionError('by zero')", BRIDLE_DEBUG="1")
    assert "Traceback" in full.stderr
    assert "sample.py" in full.stderr


@pytest.mark.parametrize("body", ["raise KeyboardInterrupt", "raise click.Abort", "os.kill(os.getpid(), 2)"])
def test_an_interruption_exits_130(tmp_path: Path, body: str) -> None:
    done = sample(tmp_path, body)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bridle: interrupted\n")


@pytest.mark.parametrize("lines", [10, 200_000])
def test_a_reader_that_goes_away_ends_the_command_without_a_complaint(tmp_path: Path, lines: int) -> None:
    command = sample_command(tmp_path, f"sys.stdin.read(); [print('line') for _ in range({lines})]")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout is not None
        child.stdout.close()  # before the child writes: it waits for the end of its stdin
        child.stdout = None
        _, stderr = child.communicate(timeout=LIMIT_SECONDS)
    assert (child.returncode, stderr) == (128 + signal.SIGPIPE, b"")


def test_another_broken_pipe_is_not_taken_for_the_reader(tmp_path: Path) -> None:
    done = sample(tmp_path, "raise BrokenPipeError(32, 'a child closed its stdin')")
    assert done.returncode == 1
    assert "a child closed its stdin" in done.stderr


def test_what_the_machine_refuses_is_reported_in_its_words(tmp_path: Path) -> None:
    done = sample(tmp_path, "open('/no/such/file')")
    assert (done.returncode, done.stderr) == (1, "bridle: No such file or directory: /no/such/file\n")


@pytest.mark.parametrize("body", ["print('lost')", "sys.stdout.reconfigure(line_buffering=False); print('lost')"])
def test_output_that_cannot_be_written_is_a_failure(tmp_path: Path, body: str) -> None:
    command = sample_command(tmp_path, body)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )
    assert done.returncode == 1
    assert done.stderr == "bridle: No space left on device\n"


def test_names_in_the_table_are_unique_and_modules_follow_them() -> None:
    commands = command_table.USER_COMMANDS + command_table.MACHINE_COMMANDS
    assert len(command_table.COMMANDS) == len(commands)
    for command in commands:
        packages = (
            ("runs", "agents", "repository", "reference") if command in command_table.USER_COMMANDS else ("machine",)
        )
        module = command.name.replace(":", "_").replace("-", "_")
        module += "_" * keyword.iskeyword(module)
        assert command.module in (None, *(f"bridle.cli.commands.{package}.{module}" for package in packages))
        if command.name != "agent":  # it exits as `claude` does, also by signals
            assert set(command.exit_codes) <= set(exit_codes.MEANINGS)


@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [
        ("<&-", 2, "standard input"),
        (">&-", 1, "Bad file descriptor"),
        ("<&- >&-", 2, "standard input"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "show"])
def test_a_stream_that_the_caller_closed_is_a_failure_with_words(
    command: str, closed: str, code: int, words: str, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text('{"type":"result","result":"done"}\n', encoding="utf-8")
    log = str(tmp_path / "log") if "<" not in closed else "-"
    done = _run(["sh", "-c", f'exec "$0" "$@" {closed}', str(BRIDLE), command, log], {})
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "bug in Bridle" not in done.stderr


@pytest.mark.parametrize("command", ["inspect", "show"])
def test_words_for_people_never_go_to_stdout_when_stderr_is_closed(command: str) -> None:
    done = _run(["sh", "-c", 'exec "$0" "$@" 2>&-', str(BRIDLE), command, "no-such-file"], {})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("command", ["inspect", "show"])
@pytest.mark.parametrize("name", ["x" * 300, "/proc/self/mem"], ids=["too long a name", "a refusal while reading"])
def test_what_cannot_be_read_is_named(command: str, name: str) -> None:
    done = bridle(command, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in done.stderr


def test_what_an_agent_said_beside_its_log_may_come_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "stderr")
    filled = subprocess.Popen(["sh", "-c", 'printf "it broke" > "$0"', str(tmp_path / "stderr")])
    try:
        done = bridle("inspect", os.devnull, "--json", "--exit-code", "3", "--stderr", str(tmp_path / "stderr"))
    finally:
        filled.kill()
        filled.wait()
    assert json.loads(done.stdout)["error"] == "it broke"


def test_names_that_are_not_utf8_are_printed_with_replacement_characters(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    written = subprocess.run(
        [str(BRIDLE), "shim", folder, "--json"], capture_output=True, timeout=LIMIT_SECONDS, check=True
    )
    assert json.loads(written.stdout)["folder"] == f"{tmp_path}/caf\ufffd"
    refused = subprocess.run(
        [str(BRIDLE), "inspect", folder + b"/gone", "--json"], capture_output=True, timeout=LIMIT_SECONDS, check=False
    )
    assert json.loads(refused.stderr)["message"].startswith(f"cannot read {tmp_path}/caf\ufffd/gone")
    run = subprocess.run(
        [str(BRIDLE), "task:post", folder, "e", "--status", "ok", "--value-inline", "1", "--json"],
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert "\ufffd" in json.loads(run.stderr)["message"]


@pytest.mark.parametrize("body", ["raise MemoryError", 'raise RuntimeError("can\'t start new thread")'])
def test_a_shortage_of_memory_or_threads_is_the_fault_of_the_machine(tmp_path: Path, body: str) -> None:
    done = sample(tmp_path, body, "--json")
    document = json.loads(done.stderr)
    assert (done.returncode, document["error"]) == (exit_codes.FAILED, "MACHINE")
    assert "bug" not in document["remedy"]
