"""Attack: a file with which the program of a check runs something else: another shell, compiler, wrapper or folder.

The agent wants a check that passes whatever the code does. The file is removed, or restored where it existed, and the
report names it and `May edit:`.

With the sandbox: the same; the working copy is writable in it.
Without: restored or removed before the checks.
Reported: on stderr and in the receipt, under `undone`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.repositories import make_repository

PACKAGE = '{"scripts": {"test": "node test.js"}}\n'
ATTACKS = {
    "npm test": (".npmrc", "script-shell=/bin/true\n"),
    "pnpm test": (".pnpmfile.cjs", "process.exit(0)\n"),
    "yarn test": (".yarnrc.yml", "yarnPath: ./fake.cjs\n"),
    "bun test": ("bunfig.toml", '[test]\npreload = ["./exit.ts"]\n'),
    "pipenv run pytest": (".env", "PYTEST_ADDOPTS=--co\n"),
    "cargo test": (".cargo/config.toml", '[target.x86_64-unknown-linux-gnu]\nrunner = "true"\n'),
    "go test ./...": ("go.work", "go 1.22\nuse ./other\n"),
    "./mvnw test": (".mvn/maven.config", "-DskipTests\n"),
    "bazel test //...": (".bazelrc", "test --test_filter=none\n"),
    "rspec": (".rspec", "--dry-run\n"),
    "make test": ("GNUmakefile", "test:\n\ttrue\n"),
}


@pytest.mark.parametrize("exists", [False, True])
def test_each_is_undone_and_named(tmp_path: Path, *, exists: bool) -> None:
    before: dict[str, str | bytes] = {"package.json": PACKAGE, "Makefile": "test:\n\tfalse\n"}
    planted = {name: text for name, text in ATTACKS.values() if not exists or name != "GNUmakefile"}
    before |= dict.fromkeys(planted, "# mine\n") if exists else {}
    here = make_repository(tmp_path / "r", before, checks=tuple(ATTACKS))
    here.start()
    here.write(planted)
    undone = {report["path"]: report["what"] for report in here.protect()["undone"]}
    assert undone.keys() == planted.keys()
    assert all("only a task whose `May edit:` names it may change it" in what for what in undone.values())
    for name in planted:
        path = here.folder / name
        assert (path.read_text() if path.exists() else None) == ("# mine\n" if exists else None)
    allowed = next(iter(planted))
    here.write({allowed: planted[allowed]})
    assert here.protect(may_edit=(allowed,), iteration=2)["undone"] == []


def test_settings_that_would_come_first_are_removed_and_first_settings_are_reported(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"eslint.config.mjs": "export default []\n", "src/a.js": ""}
    here = make_repository(tmp_path / "r", files, checks=("npx eslint .", "npx vitest run", "ruff check ."))
    here.start()
    added = {"eslint.config.js": "module.exports = [{ignores: ['**']}]\n", "vitest.config.ts": "export default {}\n"}
    here.write({**added, "pyproject.toml": '[project]\nname = "x"\n\n[tool.ruff]\nexclude = ["*"]\n'})
    result = here.protect()
    assert {report["path"] for report in result["undone"]} == {"eslint.config.js", "pyproject.toml"}
    assert here.read("pyproject.toml").strip() == '[project]\nname = "x"'
    assert [(report["path"], report["what"]) for report in result["reported"]] == [
        ("vitest.config.ts", "it was added, and vitest reads its settings from there")
    ]


def test_ordinary_work_stays_possible(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"package.json": PACKAGE, "package-lock.json": "{}\n", "tests/test_a.py": "x = 1\n"}
    here = make_repository(tmp_path / "r", files, checks=("npm test", "pytest tests/test_a.py"))
    here.start()
    fixture = "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n"
    work = {
        "package.json": PACKAGE.replace('"scripts"', '"dependencies": {"left-pad": "1"}, "scripts"'),
        "package-lock.json": '{"packages": {}}\n',
        "tests/more/conftest.py": fixture,
        "tests/more/test_b.py": "def test_b(one):\n    assert one\n",
        "go.mod": "module x\n",
    }
    here.write(work)
    assert here.protect()["undone"] == []
    assert {name: here.read(name) for name in work} == work
