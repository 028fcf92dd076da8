"""What programs import: the names, their types in two type checkers, and the examples of the page."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import bridle
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.fixtures.bridle_program import LIMIT_SECONDS, run_bridle
from tests.fixtures.typed_library import TYPED, WRONG

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"## ([^\n]+)\n\n```python\n(.*?)```", PAGE, re.DOTALL)
STUB = ast.parse((ROOT / "src" / "bridle" / "__init__.pyi").read_text(encoding="utf-8"))
# The answer that fits the schema of the second example comes through the tool that the agent offers for it.
SCRIPT = load_script(
    {
        "answers": [
            {
                "when": {"has_tool": "StructuredOutput", "turn": 1},
                "blocks": [{"type": "tool_use", "name": "StructuredOutput", "input": {"files": 3}}],
            }
        ],
        "otherwise": {"blocks": ["A README."]},
    }
)


def example(title: str) -> str:
    return str(dict(EXAMPLES)[title])


def python(folder: Path, code: str, *arguments: object, **variables: str) -> str:
    (folder / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    with running(SCRIPT) as stage:
        yield {"ANTHROPIC_BASE_URL": stage.url, "ANTHROPIC_API_KEY": "none"}


def test_the_page_has_five_examples() -> None:
    assert len(EXAMPLES) == 5


def test_an_agent_is_run(tmp_path: Path, model: dict[str, str]) -> None:
    answer, cost_and_log = python(tmp_path, example("Run an agent"), **model).splitlines()
    assert answer == "A README."
    cost, log = cost_and_log.split(" ", 1)
    assert float(cost) > 0
    assert Path(log).is_relative_to(tmp_path / ".ralph" / "logs" / "claude")


def test_an_answer_in_a_schema_and_events(tmp_path: Path, model: dict[str, str]) -> None:
    printed = python(tmp_path, example("Get an answer in a schema, and watch it work"), **model)
    assert printed == "{'files': 3} True\n"


def test_a_log_is_read(tmp_path: Path) -> None:
    recording = ROOT / "tests" / "recordings" / "claude-2.1.197" / "02-tools-basic.ndjson"
    first, second = python(tmp_path, example("Read a log"), recording).splitlines()
    document = json.loads(run_bridle("inspect", recording, "--json").stdout)
    assert first == f"{document['succeeded']} {document['session_id']} {document['tool_uses']}"
    assert second.split(" ")[0] == str(document["error"]).split(" ")[0]


def test_a_process_runs(tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text(example("Write a process"))
    (tmp_path / "inputs.json").write_text(json.dumps({"folder": "."}))
    created = ("run:create", "--process-id", "count", "--entry", "./process.py#process")
    done = run_bridle(*created, "--inputs", "inputs.json", "--run-id", "r1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run_bridle("drive", "r1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_harness_is_tested_without_a_model(tmp_path: Path) -> None:
    assert python(tmp_path, example("Test your harness without a model")) == "It is fine. 2\n"


def test_the_stub_the_list_and_the_table_of_the_page_have_the_same_names() -> None:
    stubbed = {alias.asname for node in STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert stubbed == set(bridle._MODULES)
    assert set(bridle.__all__) == stubbed | {"__version__"}
    table = PAGE.split("|---|---|")[1].split("\n\n")[0]
    assert stubbed <= set(re.findall(r"`([A-Za-z_]+)", table))


@pytest.mark.parametrize("node", [node for node in STUB.body if isinstance(node, ast.ImportFrom)], ids=ast.unparse)
def test_each_name_of_the_stub_is_what_is_imported(node: ast.ImportFrom) -> None:
    [alias] = node.names
    assert bridle._MODULES[alias.name] == node.module
    assert getattr(bridle, alias.name) is getattr(sys.modules[node.module or ""], alias.name)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import bridle; print(sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src"
    )
    assert done.stdout.strip() == "['__future__', 'bridle']"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        bridle.no_such_name  # type: ignore[attr-defined]  # noqa: B018  # that is the test


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import bridle; bridle.run_agnt"], capture_output=True, text=True, check=False
    )
    assert "Did you mean: 'run_agent'?" in done.stderr
    assert set(bridle.__all__) <= set(dir(bridle))


@pytest.mark.parametrize("name", sorted(set(bridle.__all__) - {"__version__"}))
def test_each_public_name_has_a_docstring_and_types(name: str) -> None:
    found = getattr(bridle, name)
    members = {key: member for key, member in vars(found).items() if not key.startswith("_")}
    documented = {name: found}
    if inspect.isclass(found):
        documented |= {key: member for key, member in members.items() if isinstance(member, FunctionType | property)}
    assert [key for key, member in documented.items() if not inspect.getdoc(member)] == []
    functions = [member for member in documented.values() if isinstance(member, FunctionType)]
    for signature in map(inspect.signature, functions):
        untyped = [key for key, one in signature.parameters.items() if one.annotation is one.empty and key != "self"]
        assert untyped == []
        assert signature.return_annotation is not signature.empty


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompt": 5}, "prompt must be a str, got 5"),
        ({"allowed_tools": "Bash,Read"}, "allowed_tools must be a list of names, got the str 'Bash,Read'"),
        ({"timeout_seconds": 0}, "timeout_seconds must be above 0, got 0"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds must be above 0, got nan"),
        ({"cwd": "/no/such/folder"}, "/no/such/folder is not a folder, or cannot be entered"),
        ({"permission": "all"}, "permission must be one of default, acceptEdits, bypass, got 'all'"),
    ],
)
def test_wrong_arguments_are_usage_errors(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(bridle.Error, match=re.escape(message)) as caught:
        asyncio.run(bridle.run_agent(**{"prompt": "x", "agent": "bridle-agent", "cwd": tmp_path, **arguments}))
    assert caught.value.code == "USAGE"
    assert not (tmp_path / ".ralph").exists()


def test_paths_can_be_text() -> None:
    recording = ROOT / "tests" / "recordings" / "claude-2.1.197" / "02-tools-basic.ndjson"
    assert bridle.read_log(str(recording)).record.session_id == bridle.read_log(recording).record.session_id
    with pytest.raises(bridle.Error, match="no run at /no/such/run"):
        bridle.read_receipt("/no/such/run")


def test_mypy_knows_the_types(tmp_path: Path) -> None:
    examples = [(f"example_{number}", code, 0) for number, (_, code) in enumerate(EXAMPLES)]
    for name, code, faults in (("right", TYPED, 0), ("wrong", WRONG, 2), *examples):
        (tmp_path / f"{name}.py").write_text(code)
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={tmp_path / 'cache'}"]
        done = subprocess.run([*command, f"{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.count(": error:") == faults, done.stdout
