"""`bridle status` imports only what is named here: most of its time is imports, and status bars start it often.

Whoever adds an import to its path sees a failure here, and decides whether it can be made late.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.loop import effects
from tests.fixtures.bridle_program import BRIDLE, LIMIT_SECONDS
from tests.loop.fixtures.run_on_engine import RED, RunOnEngine

PLAN = "# T\n\n## One\nCheck: `true`\n"
LINES = (
    {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-sonnet-4-5"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "é"}], "usage": {"input_tokens": 7}}},
)

# Slow, and without use here: the standard library and msgspec import some of them where nobody prevents it.
OF_OTHERS = {
    *(
        "argparse",
        "ast",
        "asyncio",
        "click",
        "concurrent",
        "dataclasses",
        "dis",
        "hashlib",
        "inspect",
        "json",
        "locale",
    ),
    *("logging", "msgspec._json_schema", "msgspec.inspect", "platform", "random", "rich", "shutil", "signal", "socket"),
    *("ssl", "subprocess", "tempfile", "textwrap", "threading", "tomllib", "traceback", "urllib.parse"),
}
# The packages of Bridle that may be imported.
OF_BRIDLE = {
    *("cli.commands", "cli.machine_interface", "cli.user_interface", "engine.drive", "engine.entries"),
    "engine.hooks",
    *("ground.children", "ground.descendants", "ground.files", "ground.light", "journal.format", "journal.stores"),
    *("loop.control", "loop.performers", "loop.plan", "loop.process", "loop.settings", "loop.text"),
    "loop.undo",
    *("loop.working_copy", "run.isolation", "views.terminal", "wire.events", "wire.record", "workspace.git_folder"),
}
# Of the packages that also have what drives a run, these modules.
OF_PACKAGE = {
    "engine.drive": {"driver_lock"},
    "engine.entries": {"effect_attempts"},
    "engine.hooks": {"find_hooks"},
    "ground.children": {"blocking_query", "query_result"},
    "ground.descendants": {"census", "proc_files"},
    "ground.files": {"files_below", "known_folders"},
    "loop.performers": {"driver_time", "earlier_attempts"},
    "loop.plan": {"model"},
    "loop.settings": {"limits"},
    "loop.undo": {"undo_entries"},
    "run.isolation": {"sandbox_rules", "scope"},
    "views.terminal": {"escape_controls", "receipt", "styled_lines"},
    "wire.events": {"surrogates"},
    "wire.record": {"policy"},
}
# For the log of an agent without a result.
WITH_LOG = {
    "wire.dialects": {"dialect_table"},
    "wire.events": {
        *("blocks", "decode", "decode_tolerant", "events", "lines", "loose_json"),
        *("numbers", "short_lines", "surrogates", "system"),
    },
    "wire.record": {
        *("denials", "error_category", "heuristics", "kept_text", "outcome"),
        *("policy", "record", "recorder", "result_texts"),
    },
}


def imported(folder: Path, *options: str) -> set[str]:
    """Return the modules that `bridle status` imports for a run after Python has started."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables["BRIDLE_HOME"] = str(folder.parent / "home")

    def modules(*command: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command],
            env=variables,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        timed = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in timed}

    command = (str(BRIDLE), "status", str(folder), *options)
    modules(*command)  # the first one replays the run
    return modules(*command) - modules("-c", "pass")


def refused(found: set[str], of_package: dict[str, set[str]]) -> list[str]:
    """Return the modules that may not be imported."""
    own = {name.removeprefix("bridle.") for name in found if name.startswith("bridle.")}
    wrong = found & OF_OTHERS
    packages = {name for name in own if name.count(".") == 1 and any(other.startswith(f"{name}.") for other in own)}
    wrong |= {f"bridle.{name}" for name in packages if name not in OF_BRIDLE and name not in of_package}
    for package, allowed in of_package.items():
        below = {name.removeprefix(f"{package}.") for name in own if name.startswith(f"{package}.")}
        wrong |= {f"bridle.{package}.{name}" for name in below - allowed}
    return sorted(wrong)


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_run_without_an_agent_at_work(tmp_path: Path, option: tuple[str, ...]) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    assert refused(imported(run.folder, *option), OF_PACKAGE) == []


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_run_with_an_agent_at_work(tmp_path: Path, option: tuple[str, ...]) -> None:
    run = RunOnEngine(tmp_path, PLAN)
    run.post_checks(RED)
    args = effects.WorkArgs.from_json(run.arguments_of(effects.WORK))
    folder = tmp_path / ".ralph/logs/claude"
    folder.mkdir(parents=True)
    log = folder / "20261115T100000.000Z-coder-One.ndjson"
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    described = {"agent": "claude", "mode": "coder", "purpose": effects.work_purpose(run.folder.name, args)}
    log.with_name("20261115T100000.000Z-coder-One.meta.json").write_text(json.dumps(described))
    found = imported(run.folder, *option)
    assert "bridle.wire.record.recorder" in found
    assert refused(found, OF_PACKAGE | WITH_LOG) == []
