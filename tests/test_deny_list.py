"""What a command may not import: a program that starts many times a minute must start fast."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import bridle
from bridle.hosts.sessions import session_file
from tests.hosts.fixtures.hook_project import Project
from tests.journal.fixtures.recorded_samples import sample
from tests.loop.fixtures.fake_agent import make_project

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

# Each takes longer to import than the whole of a hook may take, or drags in something that does.
HEAVY = frozenset(
    {
        "anthropic",
        "anyio",
        "argparse",
        "asyncio",
        "click",
        "concurrent.futures",
        "dataclasses",
        "genai_prices",
        "h11",
        "http.client",
        "httpx",
        "inspect",
        "jsonschema_rs",
        "logging",
        "mcp",
        "msgspec",
        "psutil",
        "pydantic",
        "rich",
        "ssl",
        "starlette",
        "subprocess",
        "temporalio",
        "textual",
        "typing",
        "urllib.request",
        "uvicorn",
    }
)
# A command for people may use click and msgspec; the rest it must not even look at.
NOT_FOR_READING = frozenset(
    {"anthropic", "asyncio", "genai_prices", "h11", "httpx", "psutil", "pydantic", "rich", "starlette", "subprocess"}
)

# Runs one command line as the installed program does, then prints what was imported.
PROBE = """
import sys
before = set(sys.modules)
from bridle.cli import main
code = main.run(sys.argv[1:])
imported = sorted(set(sys.modules) - before)
import json
print(json.dumps({"code": code, "imported": imported}), file=sys.stderr)
"""


@dataclass(frozen=True)
class CommandLine:
    """One command line, with what it may not import."""

    arguments: tuple[str, ...]
    denied: frozenset[str]
    exit_code: int = 0
    stdin: str = ""


FINISHED = Path(__file__).parent / "journals" / "babysitter-0.0.187" / "run-completed"
LOG = '{"type":"result","subtype":"success","is_error":false,"result":"done"}\n'

COMMAND_LINES = [
    CommandLine(("--version",), HEAVY),
    CommandLine(("--help",), HEAVY),
    CommandLine(("hook:run",), HEAVY, exit_code=1),  # --hook-type is missing
    CommandLine(("run:iterate",), HEAVY, exit_code=1),  # RUN is missing: nothing heavy to say so
    CommandLine(("inspect", "-", "--json"), NOT_FOR_READING, stdin=LOG),
    CommandLine(("audit", str(FINISHED), "--json"), NOT_FOR_READING),
    *(CommandLine((name, "no-such-run"), NOT_FOR_READING, exit_code=2) for name in ("drive", "replay")),
    CommandLine(("answer", "--list", str(FINISHED), "--json"), NOT_FOR_READING),
]


def imported_by(line: CommandLine, *, probe: str = PROBE) -> frozenset[str]:
    """The modules that one command line imports, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", probe, *line.arguments],
        input=line.stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    report = json.loads(done.stderr.splitlines()[-1])
    assert report["code"] == line.exit_code, done.stderr
    return frozenset(report["imported"])


@pytest.mark.parametrize("line", COMMAND_LINES, ids=lambda line: " ".join(line.arguments))
def test_a_command_imports_nothing_on_its_deny_list(line: CommandLine) -> None:
    assert sorted(imported_by(line) & line.denied) == []


# What agents and hooks call about a run; each gets a run that waits for the effect named in it.
RUN_COMMANDS = [
    ("run:status", "RUN", "--json"),
    ("run:events", "RUN", "--json"),
    ("run:halt", "RUN", "--json"),
    ("run:repair-journal", "RUN", "--json"),
    ("run:rebuild-state", "RUN", "--json"),
    ("task:list", "RUN", "--pending", "--json"),
    ("task:show", "RUN", "EFFECT", "--json"),
    ("task:post", "RUN", "EFFECT", "--status", "ok", "--value-inline", '{"approved": true}', "--json"),
    ("health", "--json"),
]


@pytest.mark.parametrize("words", RUN_COMMANDS, ids=lambda words: words[0])
def test_a_command_about_a_run_imports_nothing_heavy(words: tuple[str, ...], tmp_path: Path) -> None:
    run = sample("run-breakpoint", tmp_path)
    effect = next((run / "tasks").iterdir()).name
    given = {"RUN": str(run), "EFFECT": effect}
    line = CommandLine(tuple(given.get(word, word) for word in words), HEAVY)
    # SHA-256 and moments have cheap ways of their own there.
    assert sorted(imported_by(line) & (HEAVY | {"hashlib", "_hashlib", "datetime", "ulid_transform"})) == []


# What drives a run, replays a journal (the driver has left the receipt), reads the logs of agents or formats for a
# terminal; and what would take a tenth of all that `bridle status` takes.
NOT_FOR_STATUS = frozenset(
    {
        "asyncio",
        "bridle.engine.drive.driver",
        "bridle.loop.control.runs",
        "bridle.run.runner",
        "bridle.wire.record.record",
        "bridle.loop.settings.model",
        "click",
        "hashlib",
        "httpx",
        "inspect",
        "psutil",
        "rich",
        "subprocess",
        "typing_extensions",
    }
)


def test_the_status_of_a_run_of_the_loop_imports_nothing_that_drives_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# T\n\n## One\nCheck: `test -f one`\n", "open('one', 'w').close()")
    assert here.bridle("run").returncode == 0
    run = next((here.folder / ".a5c/runs").glob("*/run.json")).parent
    for options in ((), ("--json",)):
        line = CommandLine(("status", str(run), *options), NOT_FOR_STATUS)
        assert sorted(imported_by(line) & line.denied) == []


# What agents and hooks call about a session; each gets one that is bound to a run that waits.
SESSION_COMMANDS = [
    ("session:state",),
    ("session:update", "--iteration", "4"),
    ("session:check-iteration",),
    ("session:associate", "--run-id", "run-breakpoint"),
    ("session:resume", "--run-id", "run-breakpoint"),
    ("session:init", "--session-id", "s2"),
]


@pytest.mark.parametrize("words", SESSION_COMMANDS, ids=lambda words: words[0])
def test_a_command_about_a_session_imports_nothing_heavy(words: tuple[str, ...], tmp_path: Path) -> None:
    run = sample("run-breakpoint", tmp_path)
    session_file.write(session_file.new_file(tmp_path / "s1.md", session_file.new_session(""), ""))
    runs = ("--runs-dir", str(run.parent)) if "--run-id" in words else ()
    line = CommandLine((words[0], "--session-id", "s1", "--state-dir", str(tmp_path), *words[1:], *runs), HEAVY)
    assert sorted(imported_by(line) & (HEAVY | {"hashlib", "_hashlib", "datetime", "ulid_transform"})) == []


def test_the_last_message_of_a_session_is_read_without_anything_heavy(tmp_path: Path) -> None:
    line = CommandLine(("session:last-message", "--transcript-path", str(tmp_path / "none"), "--json"), HEAVY)
    assert sorted(imported_by(line) & HEAVY) == []


# Beyond HEAVY, what the quick way into a hook does without: each is a tenth of all that a hook may take, or more.
NOT_IN_A_HOOK = frozenset(
    {"bridle.cli", "collections", "contextlib", "datetime", "enum", "functools", "hashlib", "json", "pathlib", "re"}
)
LAYERS_OF_A_HOOK = ("errors", "ground", "hosts", "journal")
# Answers one hook as the plugin's own file does, then prints what was imported.
HOOK_PROBE = """
import sys
before = set(sys.modules)
sys.path.append(sys.argv[1])
import os
def leave(code):
    imported = sorted(set(sys.modules) - before)
    import json
    print(json.dumps({"code": code, "imported": imported}), file=sys.stderr)
    sys.exit(code)
os._exit = leave
from bridle.hosts.hooks.entry_point import start
start(sys.argv[2:])
"""
HOOKS = ("stop", "session-start")


def hook_scene(folder: Path, hook_type: str) -> tuple[Project, str]:
    """A session that is bound to a run, with a transcript and trouble of no kind; gives its payload too."""
    project = Project(folder)
    project.run("ask:a/agent")
    if hook_type == "stop":
        project.session()
        project.say("working", {"type": "user", "message": {"content": "go on"}})
    return project, json.dumps(project.payload())


@pytest.mark.parametrize("hook_type", HOOKS)
def test_a_hook_through_the_command_imports_nothing_heavy(hook_type: str, tmp_path: Path) -> None:
    project, payload = hook_scene(tmp_path, hook_type)
    words = ("hook:run", "--hook-type", hook_type, "--state-dir", str(project.state), "--json")
    assert sorted(imported_by(CommandLine(words, HEAVY, stdin=payload)) & HEAVY) == []
    assert (project.state / "s.md").is_file()


@pytest.mark.parametrize("hook_type", HOOKS)
def test_a_hook_the_quick_way_imports_hardly_anything(hook_type: str, tmp_path: Path) -> None:
    project, payload = hook_scene(tmp_path, hook_type)
    words = [str(Path(bridle.__file__).parents[1]), "--hook-type", hook_type, "--state-dir", str(project.state)]
    exports = tmp_path / "exports.sh"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HOOK_PROBE, *words],
        input=payload,
        env=project.environment(CLAUDE_ENV_FILE=str(exports)),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    imported = set(json.loads(done.stderr)["imported"])
    assert ("block" in done.stdout, exports.exists()) == (hook_type == "stop", hook_type != "stop")
    assert sorted(imported & (HEAVY | NOT_IN_A_HOOK)) == []
    layers = {name.split(".")[1] for name in imported if name.startswith("bridle.")}
    assert sorted(layers - set(LAYERS_OF_A_HOOK)) == [], "the journal, the session file, and nothing else"


def test_the_dispatcher_imports_the_tables_and_nothing_else() -> None:
    imported = imported_by(CommandLine(("--version",), HEAVY))
    own = {f"bridle.cli.{name}" for name in ("main", "command_table", "exit_codes", "standard_streams")}
    assert imported == {"__future__", "bridle", "bridle.cli", *own}


@pytest.mark.parametrize("module", ["asyncio", "click", "subprocess", "msgspec", "rich"])
def test_a_heavy_import_is_seen(module: str) -> None:
    probe = PROBE.replace("from bridle.cli import main", f"from bridle.cli import main; import {module}")
    assert module in imported_by(CommandLine(("--version",), HEAVY), probe=probe) & HEAVY
