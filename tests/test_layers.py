"""The layer table of docs/architecture.md holds for every import; and the search itself finds what it should."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tools import layers

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bridle"
PAGE = ROOT / "docs" / "architecture.md"
# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

TABLE = {
    "errors": frozenset[str](),
    "ground": frozenset({"errors"}),
    "wire": frozenset({"errors"}),
    "run": frozenset({"errors", "ground", "wire"}),
    "cli": frozenset({"errors", "ground", "wire", "run", "cli"}),
}


def package_names() -> list[str]:
    return [module.name for module in layers.modules(PACKAGE) if module.is_package]


def test_no_module_breaks_the_layer_table() -> None:
    found = layers.violations(PACKAGE, layers.read_table(PAGE.read_text(encoding="utf-8")))
    assert not found, "\n".join(map(str, found))


def test_no_modules_import_each_other() -> None:
    assert layers.cycles(PACKAGE) == []


def test_no_sub_packages_import_each_other() -> None:
    assert layers.package_cycles(PACKAGE) == []


def test_every_sub_package_has_few_files_and_says_what_it_holds() -> None:
    found = layers.misshapen_packages(PACKAGE)
    assert not found, "\n".join(map(str, found))


def test_the_table_is_read_whole() -> None:
    table = layers.read_table(PAGE.read_text(encoding="utf-8"))
    assert len(table) == 14
    assert table["errors"] == frozenset()
    assert table["run"] == {"errors", "ground", "wire"}
    assert table["stage"] == {"errors", "wire"}
    assert table["cli"] == frozenset(table)


def test_layers_only_import_what_is_below_them() -> None:
    seen: set[str] = set()
    for layer, allowed in layers.read_table(PAGE.read_text(encoding="utf-8")).items():
        assert allowed - {layer} <= seen, layer
        seen.add(layer)


@pytest.mark.parametrize("name", package_names())
def test_importing_a_package_imports_none_of_its_modules(name: str) -> None:
    code = (
        f"import sys, {name}; print([m for m in sys.modules if m.startswith('bridle') and not {name!r}.startswith(m)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", package_names())
def test_every_listed_name_can_be_had(name: str) -> None:
    package = importlib.import_module(name)
    for listed in getattr(package, "__all__", []):
        assert getattr(package, listed) is not None


def broken(folder: Path, path: str, source: str) -> list[str]:
    """What the search says about a package with one more module."""
    package = folder / "bridle"
    for layer in TABLE:
        (package / layer).mkdir(parents=True, exist_ok=True)
        (package / layer / "__init__.py").write_text(f'"""The `{layer}` layer."""\n', encoding="utf-8")
    module = package / path
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(source, encoding="utf-8")
    return [violation.what for violation in layers.violations(package, TABLE)]


@pytest.mark.parametrize(
    "source",
    [
        "import bridle.run.runner",
        "from bridle.run.runner import start",
        "from bridle.run import runner",
        "from bridle import run",
        "def late():\n    from bridle.run.runner import start",
        "async def late():\n    import bridle.run.runner",
        "class Late:\n    from bridle.run import runner",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bridle.run.runner import Runner",
        "try:\n    import bridle.run.runner\nexcept ImportError:\n    pass",
        "import importlib\nimportlib.import_module('bridle.run.runner')",
        "from importlib import import_module\nrunner = import_module('bridle.run.runner')",
        "__import__('bridle.run.runner')",
        "LAZY = {'start': 'bridle.run.runner'}",
        "LAZY = {'start': 'bridle.run.runner:start'}",
    ],
)
def test_every_way_to_import_out_of_a_layer_is_found(tmp_path: Path, source: str) -> None:
    assert any(
        what.startswith("wire may not import bridle.run") for what in broken(tmp_path, "wire/events/lines.py", source)
    )


@pytest.mark.parametrize(
    "source",
    [
        "from . import lines",
        "from .lines import cut",
        "from ..run import runner",
        "import bridle",
        "import importlib\nimportlib.import_module('.runner', 'bridle.run')",
        "import importlib\nimportlib.import_module(f'bridle.{1}')",
        "import importlib\nimportlib.import_module('bridle.' + 'run')",
        "import importlib\nimportlib.import_module('bridle.{}'.format('run'))",
    ],
)
def test_imports_that_cannot_be_followed_are_refused(tmp_path: Path, source: str) -> None:
    assert len(broken(tmp_path, "run/runner.py", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from bridle.wire.events.lines import cut",
        "from bridle import errors",
        "from bridle import __version__",
        "from bridle.ground import process",
        "import bridle.run.logs",
        '"""See bridle.cli.main for more."""',
        "import importlib\nimportlib.import_module(TABLE['x'])",
    ],
)
def test_imports_along_the_table_are_left_alone(tmp_path: Path, source: str) -> None:
    assert broken(tmp_path, "run/runner.py", source) == []


@pytest.mark.parametrize("layer", ["errors", "wire", "run"])
def test_no_layer_imports_the_command_line(tmp_path: Path, layer: str) -> None:
    found = broken(tmp_path, f"{layer}/some.py", "from bridle.cli import main")
    assert found == [f"{layer} may not import bridle.cli"]


def test_the_command_line_imports_everything(tmp_path: Path) -> None:
    source = "from bridle.run.runner import start\nfrom bridle.cli import table\n"
    assert broken(tmp_path, "cli/main.py", source) == []


@pytest.mark.parametrize("path", ["run/utils.py", "run/helpers/argv.py", "run/_base.py", "run/types.py"])
def test_names_that_say_nothing_are_found(tmp_path: Path, path: str) -> None:
    assert any("says nothing" in what for what in broken(tmp_path, path, ""))


def test_a_layer_that_the_table_does_not_know_is_found(tmp_path: Path) -> None:
    assert broken(tmp_path, "extras/some.py", "") == ["extras is not in the layer table"]


@pytest.mark.parametrize(
    "source",
    [
        *(
            f"import {name}"
            for name in [
                "os",
                "io",
                "time",
                "random",
                "subprocess",
                "socket",
                "pathlib",
                "asyncio",
                "threading",
                "os.path",
            ]
        ),
        "def late():\n    from pathlib import Path",
        "__import__('os')",
        "def read(name):\n    return open(name)",
        "print('here')",
        "import datetime\nNOW = datetime.datetime.now()",
        "from datetime import datetime\nNOW = datetime.now()",
        "import sys\nsys.stderr.write('here')",
    ],
)
def test_whatever_makes_the_wire_impure_is_found(tmp_path: Path, source: str) -> None:
    found = broken(tmp_path, "wire/events/lines.py", source)
    assert len(found) == 1
    assert found[0].startswith("wire is pure")


def test_other_layers_may_touch_the_machine(tmp_path: Path) -> None:
    assert broken(tmp_path, "ground/disk.py", "import os\nprint(open('x'))") == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from bridle.wire.events.lines import cut",
        "VALUE = 1",
        "_TABLE = dict(a=1)",
        "def helper():\n    pass",
        "class Thing:\n    pass",
        "print('loaded')",
        "if True:\n    pass",
    ],
)
def test_an_init_that_does_more_than_list_names_is_found(tmp_path: Path, source: str) -> None:
    found = broken(tmp_path, "wire/__init__.py", f'"""The layer."""\n{source}\n')
    assert "__init__.py lists names and nothing else" in found


def test_an_init_that_lists_names_is_left_alone(tmp_path: Path) -> None:
    source = '''"""The layer."""

from __future__ import annotations

__all__ = ["cut"]
_MODULES = {"cut": "bridle.wire.events.lines"}


def __getattr__(name: str) -> object:
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)
'''
    assert broken(tmp_path, "wire/__init__.py", source) == []


def test_the_package_lists_names_of_any_layer_but_imports_none(tmp_path: Path) -> None:
    assert broken(tmp_path, "__init__.py", '_MODULES = {"start": "bridle.run.runner"}\n') == []
    late = "def __getattr__(name):\n    from bridle.run.runner import start\n    return start\n"
    assert broken(tmp_path, "__init__.py", late) == ["bridle may not import bridle.run.runner"]


def test_modules_that_import_each_other_are_found(tmp_path: Path) -> None:
    broken(tmp_path, "run/one.py", "from bridle.run import two")
    broken(tmp_path, "run/two.py", "from bridle.run.three import x")
    broken(tmp_path, "run/three.py", "import bridle.run.one")
    assert layers.cycles(tmp_path / "bridle") == ["bridle.run.one > bridle.run.two > bridle.run.three > bridle.run.one"]


def test_an_import_inside_a_function_makes_a_cycle_too(tmp_path: Path) -> None:
    broken(tmp_path, "run/one.py", "from bridle.run import two")
    broken(tmp_path, "run/two.py", "def late():\n    from bridle.run import one")
    assert layers.cycles(tmp_path / "bridle") == ["bridle.run.one > bridle.run.two > bridle.run.one"]


def package_of(folder: Path, **files: str) -> Path:
    """Make a layer `run` with sub-packages; `logs__read` is the module `read` of the sub-package `logs`."""
    for name, source in files.items():
        sub_package, _, module = name.partition("__")
        init = folder / "bridle" / "run" / sub_package / "__init__.py"
        broken(folder, f"run/{sub_package}/{module}.py", source)
        init.write_text(f'"""The {sub_package} of a run; imports nothing."""\n', encoding="utf-8")
    return folder / "bridle"


@pytest.mark.parametrize("late", ["", "def late():\n    "])
def test_sub_packages_that_import_each_other_are_found(tmp_path: Path, late: str) -> None:
    package = package_of(
        tmp_path,
        logs__read="from bridle.run.state.budget import x",
        logs__write="",
        state__budget="",
        state__session=f"{late}from bridle.run.logs.write import y",
    )
    assert layers.cycles(package) == []
    assert layers.package_cycles(package) == ["bridle.run.logs > bridle.run.state > bridle.run.logs"]


def test_sub_packages_that_import_in_one_direction_are_left_alone(tmp_path: Path) -> None:
    package = package_of(tmp_path, logs__read="from bridle.run.state.budget import x", state__budget="")
    assert layers.package_cycles(package) == []


@pytest.mark.parametrize(("count", "is_found"), [(1, True), (2, False), (20, False), (21, True)])
def test_a_sub_package_with_too_many_or_too_few_files_is_found(tmp_path: Path, count: int, *, is_found: bool) -> None:
    package = package_of(tmp_path, **{f"logs__module{number}": "" for number in range(count)})
    assert [violation.what for violation in layers.misshapen_packages(package)] == (
        [f"{count + 1} files: a sub-package has 3 to 21"] if is_found else []
    )


def test_a_sub_package_without_a_sentence_is_found(tmp_path: Path) -> None:
    package = package_of(tmp_path, logs__read="", logs__write="")
    (package / "run" / "logs" / "__init__.py").write_text('"""The logs."""\n', encoding="utf-8")
    (found,) = layers.misshapen_packages(package)
    assert found.what == "the docstring does not say what it holds and what it may not import"
