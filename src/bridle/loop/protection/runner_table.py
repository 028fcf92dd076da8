"""A table of test runners and linters with the places of their settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Runner:
    """The places of a program's settings."""

    files: tuple[str, ...] = ()
    """Its own files, in order of precedence; `*` is any suffix."""
    toml: str | None = None
    """Its table in pyproject.toml."""
    ini: tuple[tuple[str, str], ...] = ()
    """Files and sections in them."""
    package_key: str | None = None
    """Its key in package.json."""


PYTEST = "pytest"

RUNNERS: dict[str, Runner] = {
    PYTEST: Runner(
        files=("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
        toml="tool.pytest",
        ini=(("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")),
    ),
    "ava": Runner(files=("ava.config.*",), package_key="ava"),
    "biome": Runner(files=("biome.json", "biome.jsonc")),
    "cargo": Runner(files=(".cargo/config.toml", ".cargo/config")),
    "coverage": Runner(
        files=(".coveragerc",), toml="tool.coverage", ini=(("setup.cfg", "coverage:*"), ("tox.ini", "coverage:*"))
    ),
    "eslint": Runner(files=("eslint.config.*", ".eslintrc", ".eslintrc.*"), package_key="eslintConfig"),
    "flake8": Runner(files=(".flake8",), ini=(("setup.cfg", "flake8"), ("tox.ini", "flake8"))),
    "golangci-lint": Runner(files=(".golangci.*",)),
    "jest": Runner(files=("jest.config.*",), package_key="jest"),
    "just": Runner(files=("justfile", "Justfile", ".justfile")),
    "mocha": Runner(files=(".mocharc.*", ".mocharc"), package_key="mocha"),
    "mypy": Runner(files=("mypy.ini", ".mypy.ini"), toml="tool.mypy", ini=(("setup.cfg", "mypy*"),)),
    "nox": Runner(files=("noxfile.py",)),
    "phpunit": Runner(files=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")),
    "pyright": Runner(files=("pyrightconfig.json",), toml="tool.pyright"),
    "rake": Runner(files=("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb")),
    "rspec": Runner(files=(".rspec",)),
    "rubocop": Runner(files=(".rubocop.yml",)),
    "ruff": Runner(files=("ruff.toml", ".ruff.toml"), toml="tool.ruff"),
    "task": Runner(files=("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")),
    "tox": Runner(files=("tox.ini", "tox.toml"), toml="tool.tox"),
    "vitest": Runner(files=("vitest.config.*", "vitest.workspace.*")),
}
ALIASES = {"py.test": PYTEST, "gmake": "make", "python3": "python"}

# Programs that run scripts of package.json, and the subcommands before the script's name.
SCRIPT_RUNNERS: dict[str, frozenset[str]] = {
    "npm": frozenset({"run", "run-script", "rum", "urn"}),
    "pnpm": frozenset({"run", "run-script"}),
    "yarn": frozenset({"run"}),
    "bun": frozenset({"run"}),
}
# Scripts that are also subcommands.
SHORT_SCRIPTS = {"t": "test", "tst": "test", "test": "test", "start": "start", "stop": "stop", "restart": "restart"}
# Programs whose arguments are script names, of this package or of all packages.
SCRIPT_LISTS = frozenset({"run-s", "run-p", "npm-run-all", "turbo", "nx", "lerna"})
# Flags of these programs for the working folder.
FOLDER_FLAGS = frozenset({"-C", "--prefix", "--cwd", "--dir", "--directory"})
# Flags that choose packages of the repository by name, and flags for all packages.
PACKAGE_FLAGS = frozenset({"-w", "--workspace", "--filter", "-F"})
ALL_PACKAGES = frozenset({"-r", "--recursive", "-ws", "--workspaces"})
# Programs that install what a file lists, and their subcommands for it.
INSTALLERS = frozenset(
    {"pip", "pip3", "uv", "poetry", "pdm", "pipenv", "npm", "pnpm", "yarn", "bun", "bundle", "composer"}
)
INSTALLING = frozenset({"install", "sync", "ci", "add"})
