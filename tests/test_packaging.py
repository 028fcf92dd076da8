"""What is installed is what the repository says: the wheel, the pins, and the declared dependencies."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Any

import pytest

import bridle

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
REAL_LOCKS = sorted((ROOT / "tests" / "real" / "locks").glob("*.json"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Building takes a second; a hang is a failure.
LIMIT_SECONDS = 120


def normal(name: str) -> str:
    """Names of distributions compare without regard to case and separators."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in requirements}


def pinned_names(lock: Path) -> set[str]:
    return {normal(name) for name in re.findall(r"^([\w.-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE)}


def foreign_imports(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every import of something that is neither ours nor Python's own."""
    known = sys.stdlib_module_names | {"bridle", "tests", "tools", "bench"}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            yield from ((path, name.split(".")[0]) for name in names if name.split(".")[0] not in known)


@cache
def distributions() -> dict[str, set[str]]:
    """Which distributions a module comes from."""
    return {module: {normal(name) for name in names} for module, names in packages_distributions().items()}


def undeclared(folder: Path, declared: set[str]) -> list[str]:
    return sorted(
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in foreign_imports(folder)
        if not distributions().get(module, {normal(module)}) & declared
    )


def test_src_imports_only_what_the_package_declares() -> None:
    extras = [name for names in PROJECT["project"]["optional-dependencies"].values() for name in names]
    assert undeclared(ROOT / "src", requirement_names(PROJECT["project"]["dependencies"] + extras)) == []


# Run by the interpreter of a peer's own environment, whose lock file has what they import.
IN_ENVIRONMENTS_OF_THEIR_OWN = {
    "tests/real/fixtures/sdk_driver.py imports claude_agent_sdk": "requirements/bench-sdk.in"
}


@pytest.mark.parametrize("folder", ["tests", "tools"])
def test_tests_and_tools_import_only_what_is_declared(folder: str) -> None:
    declared = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
    found = undeclared(ROOT / folder, requirement_names(declared))
    assert [line for line in found if line not in IN_ENVIRONMENTS_OF_THEIR_OWN] == []


def test_what_runs_in_another_environment_is_declared_there() -> None:
    for line, requirements in IN_ENVIRONMENTS_OF_THEIR_OWN.items():
        module = line.rpartition(" ")[2]
        assert normal(module) in requirement_names((ROOT / requirements).read_text("utf-8").splitlines())


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    groups = [*PROJECT["project"]["optional-dependencies"].values(), PROJECT["dependency-groups"]["dev"]]
    declared = PROJECT["project"]["dependencies"] + [name for group in groups for name in group]
    assert [name for name in sorted(requirement_names(declared)) if f"| {name} |" not in page] == []


def test_the_locks_pin_every_declared_dependency() -> None:
    base = requirement_names(PROJECT["project"]["dependencies"])
    development = base | requirement_names(PROJECT["dependency-groups"]["dev"])
    assert base <= pinned_names(ROOT / "requirements" / "base.lock")
    assert development <= pinned_names(ROOT / "requirements" / "dev.lock")


def test_the_lowest_versions_are_those_that_the_package_allows() -> None:
    """`make lowest` runs the tests with them: a floor that is lowered or raised needs a new lock (`make lock`)."""
    text = (ROOT / "requirements" / "lowest.lock").read_text(encoding="utf-8")
    pinned = {normal(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)}
    extras = [name for names in PROJECT["project"]["optional-dependencies"].values() for name in names]
    for requirement in PROJECT["project"]["dependencies"] + extras:
        name, floor = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(?:;.*)?", requirement.replace(" ", "")).groups()  # type: ignore[union-attr]  # every requirement has a floor
        assert re.fullmatch(rf"{re.escape(floor)}(\.\d+)*", pinned[normal(name)]), requirement


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_names_versions_and_hashes_and_no_hosts(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert re.search(r"\w+://|--(extra-)?index-url|--find-links|--trusted-host", text) is None
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.-]+==[\w.]+( ;.*)? \\\n    --hash=sha256:[0-9a-f]{64}", requirement), requirement


@pytest.mark.parametrize("lock", REAL_LOCKS, ids=lambda lock: lock.name)
def test_the_lock_of_a_real_part_has_a_hash_for_every_package_and_no_hosts(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    assert packages
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name


def test_every_real_part_has_a_lock_of_its_version() -> None:
    pins = json.loads((ROOT / "tests" / "real" / "parts.json").read_text(encoding="utf-8"))
    assert {lock.stem for lock in REAL_LOCKS} == set(pins)
    for lock in REAL_LOCKS:
        pin = pins[lock.stem]
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        assert packages[f"node_modules/{pin['package']}"]["version"] == pin["version"]


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["project"]["version"] == bridle.__version__
    assert f"## [{bridle.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_both_programs_are_installed() -> None:
    scripts = {entry.name: entry.value for entry in entry_points(group="console_scripts")}
    assert scripts["bridle"] == "bridle.cli.main:main"
    assert scripts["bridle-agent"] == "bridle.cli.main:agent"
    assert "claude" not in PROJECT["project"]["scripts"]


def test_the_distribution_starts_by_its_own_name_too() -> None:
    scripts = PROJECT["project"]["scripts"]
    assert PROJECT["project"]["name"] == "bridle-cli"
    assert scripts["bridle-cli"] == scripts["bridle"]


def test_every_text_that_names_an_extra_names_one_of_this_distribution() -> None:
    pages = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    named = {
        (path.name, *found)
        for path in pages
        for found in re.findall(r"(?<![\w./-])(bridle(?:-cli)?)\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
    }
    assert named
    assert {name for _, name, _ in named} == {"bridle-cli"}
    extras = {extra for _, _, extras in named for extra in extras.split(",")}
    assert extras <= set(PROJECT["project"]["optional-dependencies"])


def test_the_wheel_holds_the_whole_package_its_types_and_its_licence(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "src" / "bridle").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {str(path.relative_to(ROOT / "src")) for path in files} <= held
    assert {"bridle/py.typed", "bridle/hosts/install/plugin/.claude-plugin/plugin.json"} <= held
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert {f"bridle/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= held
    assert not [name for name in held if name.startswith("bridle/docs/") and not name.endswith(".md")]
    top = f"bridle_cli-{bridle.__version__}"
    assert f"{top}.data/data/share/man/man1/bridle.1" in held
    assert {name.split("/")[0] for name in held} == {"bridle", f"{top}.data", f"{top}.dist-info"}


def test_make_test_is_what_gates_a_change() -> None:
    gate = ROOT / ".ci" / "run"
    assert gate.stat().st_mode & 0o111
    assert gate.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"
