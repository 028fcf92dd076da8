"""Finding and importing a process: every way it can go wrong is told with its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.engine.process.load_process import check, load
from bridle.errors import ProcessNotLoaded
from tests.engine.fixtures.iterated_runs import IteratedRun

GOOD = "async def process(inputs, ctx):\n    return 1\n"


def written(folder: Path, text: str, name: str = "process.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path, export: str = "process") -> str:
    with pytest.raises(ProcessNotLoaded) as caught:
        load(path, export)
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "gone.py") in refusal(tmp_path / "gone.py")


def test_a_folder_is_no_process(tmp_path: Path) -> None:
    assert str(tmp_path) in refusal(tmp_path)


def test_a_mistake_in_the_syntax_is_reported_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "import asyncio\n\nasync def process(inputs, ctx)\n    pass\n")
    assert f"{path}:3: expected ':'" in refusal(path)


def test_an_error_at_the_import_is_reported_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, f"x = 1\ny = {{}}['missing']\n{GOOD}")
    assert f"{path}:2: KeyError: 'missing'" in refusal(path)


def test_an_error_in_a_module_beside_it_is_reported_with_that_modules_line(tmp_path: Path) -> None:
    beside = written(tmp_path, "def broken():\n    raise ValueError('no')\nbroken()\n", "beside.py")
    path = written(tmp_path, f"import beside\n{GOOD}")
    assert f"{beside}:2: ValueError: no" in refusal(path)


def test_a_module_that_is_missing_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, f"import no_such_module_anywhere\n{GOOD}")
    assert f"{path}:1: ModuleNotFoundError: No module named 'no_such_module_anywhere'" in refusal(path)


@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_a_process_that_ends_the_program_at_import_is_refused(tmp_path: Path, error: str) -> None:
    path = written(tmp_path, f"import sys\nraise {error}(3)\n{GOOD}")
    assert f"{path}:2: {error}: 3" in refusal(path)


def test_a_name_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    path = written(tmp_path, "async def one(inputs, ctx): ...\nasync def two(inputs, ctx): ...\ndef three(): ...\n")
    assert refusal(path) == f"{path} has no function 'process'\n  Its async functions are: one, two."


def test_a_function_that_is_not_async_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "\n\ndef process(inputs, ctx):\n    return 1\n")
    assert f"{path}:3: 'process' must be an async function" in refusal(path)


def test_a_value_is_no_process(tmp_path: Path) -> None:
    assert "must be an async function" in refusal(written(tmp_path, "process = 7\n"))


@pytest.mark.parametrize("name", ["process.mjs", "process.js", "process.ts"])
def test_a_process_in_javascript_is_left_to_its_own_program(tmp_path: Path, name: str) -> None:
    assert "JavaScript" in refusal(written(tmp_path, "export async function process() {}", name))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "process.py"
    path.write_bytes(b"x = '\xff\xfe'\n" + GOOD.encode())
    assert str(path) in refusal(path)


def test_each_load_takes_the_file_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "VALUE = 1\n" + GOOD)
    first = load(path)
    stamp = path.stat()
    written(tmp_path, "VALUE = 2\n" + GOOD)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the same size and time: only its bytes differ
    second = load(path)
    assert first.function.__globals__["VALUE"] == 1
    assert second.function.__globals__["VALUE"] == 2
    assert first.digest != second.digest


def test_each_load_imports_the_modules_beside_it_anew(tmp_path: Path) -> None:
    written(tmp_path, "SEEN = []\n", "beside.py")
    path = written(tmp_path, f"import beside\nbeside.SEEN.append(1)\n{GOOD}")
    for _ in range(2):
        loaded = load(path)
        assert loaded.modules["beside"].SEEN == [1]
        assert "beside" not in sys.modules


def test_a_module_beside_it_can_be_imported_later_too(tmp_path: Path) -> None:
    package = tmp_path / "parts"
    package.mkdir()
    written(package, "", "__init__.py")
    written(package, "WORD = 'late'\n", "late.py")
    path = written(tmp_path, "async def process(inputs, ctx):\n    from parts.late import WORD\n    return WORD\n")
    loaded = load(path)
    with loaded.active(), pytest.raises(StopIteration) as ended:
        loaded.function({}, None).send(None)
    assert ended.value.value == "late"
    assert {"parts", "parts.late"} <= set(loaded.modules)
    assert not {"parts", "parts.late"} & set(sys.modules)


def test_what_is_elsewhere_is_shared(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, f"import json\n{GOOD}"))
    import json

    assert loaded.function.__globals__["json"] is json


def test_installed_packages_in_the_same_folder_are_not_the_processes_own(tmp_path: Path) -> None:
    packages = tmp_path / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    written(packages, "", "installed_for_this_test.py")
    path = written(tmp_path, f"import sys\nsys.path.append({str(packages)!r})\nimport installed_for_this_test\n{GOOD}")
    try:
        assert "installed_for_this_test" not in load(path).modules
        assert "installed_for_this_test" in sys.modules
        assert str(packages) not in sys.path
    finally:
        sys.modules.pop("installed_for_this_test", None)


def test_a_dataclass_in_a_process_finds_its_module(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\nfrom typing import ClassVar\n"
        f"@dataclass\nclass Point:\n    x: int\n    where: ClassVar[str] = 'here'\n{GOOD}",
    )
    assert load(path).modules


def test_nothing_is_left_in_the_folder_of_a_process(tmp_path: Path) -> None:
    written(tmp_path, "", "beside.py")
    load(written(tmp_path, f"import beside\n{GOOD}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.py", "process.py"]


def test_what_a_process_prints_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(written(tmp_path, f"print('loading')\n{GOOD}"))
    assert capsys.readouterr() == ("", "loading\n")


def test_a_module_that_a_process_imports_while_it_runs_does_not_replay_it(tmp_path: Path) -> None:
    written(tmp_path, "WORD = 1\n", "beside.py")
    written(tmp_path, "WORD = 2\n", "beside_too.py")
    executions = tmp_path / "executions"
    source = f"""
async def process(inputs, ctx):
    with open({str(executions)!r}, "a") as file:
        file.write("x")
    import beside
    first = await ctx.task(step, 1)
    import beside_too
    return [first, await ctx.task(step, 2), await ctx.task(step, 3), beside.WORD + beside_too.WORD]
"""
    run = IteratedRun(tmp_path, source)
    engine = run.engine()
    for step in ("1", "2", "3"):
        engine.iterate()
        run.post(step, step)
    assert engine.iterate().output == ["1", "2", "3", 3]
    assert executions.read_text() == "x"


def test_a_changed_module_that_a_process_has_imported_while_it_ran_is_loaded_again(tmp_path: Path) -> None:
    written(tmp_path, "WORD = 1\n", "beside.py")
    source = """
async def process(inputs, ctx):
    import beside
    await ctx.task(step, 1)
    return beside.WORD
"""
    run = IteratedRun(tmp_path, source)
    engine = run.engine()
    engine.iterate()
    written(tmp_path, "WORD = 22\n", "beside.py")
    run.post("1")
    assert engine.iterate().output == 22
    engine.close()


def test_a_process_is_current_until_one_of_its_files_changes(tmp_path: Path) -> None:
    beside = written(tmp_path, "WORD = 1\n", "beside.py")
    loaded = load(written(tmp_path, f"import beside\n{GOOD}"))
    assert loaded.is_current()
    beside.write_text("WORD = 22\n")
    assert not loaded.is_current()
    loaded = load(tmp_path / "process.py")
    assert loaded.is_current()
    beside.unlink()
    assert not loaded.is_current()


@pytest.mark.parametrize(
    ("text", "is_loaded"),
    [
        (f"import asyncio\n{GOOD}", False),
        (f"from asyncio import gather\n{GOOD}", True),
        (f"import asyncio\nLOCK = asyncio.Lock()\n{GOOD}", True),
        (f"import asyncio, asyncio.events\n{GOOD}", True),
    ],
)
def test_a_check_loads_asyncio_only_if_the_process_looks_into_it(tmp_path: Path, text: str, *, is_loaded: bool) -> None:
    path = written(tmp_path, text)
    code = f"""
import sys
from pathlib import Path
from bridle.engine.process.load_process import check
digest = check(Path({str(path)!r}))
print(len(digest), "asyncio.base_events" in sys.modules)
import asyncio
assert asyncio.run(asyncio.sleep(0, 5)) == 5
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"64 {is_loaded}\n", "")


def test_a_check_finds_what_a_load_finds(tmp_path: Path) -> None:
    with pytest.raises(ProcessNotLoaded, match="KeyError"):
        check(written(tmp_path, f"import asyncio\n{{}}['x']\n{GOOD}"))
    assert check(written(tmp_path, GOOD)) == load(tmp_path / "process.py").digest
