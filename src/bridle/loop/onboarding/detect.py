"""Detects how a repository is tested and set up from its files. Runs no command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from bridle.loop.onboarding.candidates import Candidate, DetectedCommands, Which, read_text
from bridle.loop.onboarding.detect_node import node
from bridle.loop.onboarding.detect_python import python


def detect(folder: Path, which: Which = shutil.which) -> DetectedCommands:
    """Detect the commands that test and set up a folder."""
    detected = [_make(folder), _runners(folder), python(folder, which), node(folder), _others(folder)]
    return DetectedCommands(
        checks=_unique((check for commands in detected for check in commands.checks), which),
        setup=_unique((command for commands in detected for command in commands.setup), which),
    )


def _unique(candidates: Iterator[Candidate], which: Which) -> tuple[Candidate, ...]:
    """Return the first candidate for each command, with whether its program is installed."""
    first = {candidate.command: candidate for candidate in reversed(list(candidates))}
    return tuple(
        Candidate(candidate.command, candidate.reason, _is_installed(candidate.command, which))
        for candidate in reversed(list(first.values()))
    )


def _is_installed(command: str, which: Which) -> bool:
    program = next((word for word in command.split() if "=" not in word), "")
    return "/" in program or which(program) is not None


def _make(folder: Path) -> DetectedCommands:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        targets = set()
        for line in read_text(folder, name).split("\n"):
            rule = re.match(r"([A-Za-z0-9_. -]+?) *:(?!=)", line)
            targets |= set(rule[1].split()) if rule else set()
        if targets:
            return _targets(targets, "make", f"{name} has a target")
    return DetectedCommands()


def _runners(folder: Path) -> DetectedCommands:
    """Detect the recipes of just and the tasks of Task."""
    for name in ("justfile", "Justfile", ".justfile"):
        recipes = set(re.findall(r"^@?([A-Za-z0-9_-]+)[^:\n]*:(?!=)", read_text(folder, name), re.MULTILINE))
        if recipes:
            return _targets(recipes, "just", f"{name} has a recipe")
    for name in ("Taskfile.yml", "Taskfile.yaml"):
        tasks = re.search(r"^tasks:[ \t]*\n((?:[ \t].*\n|[ \t]*\n)+)", read_text(folder, name) + "\n", re.MULTILINE)
        if tasks:
            named = set(re.findall(r"^(?:  |\t)([A-Za-z0-9_-]+):", tasks[1], re.MULTILINE))
            return _targets(named, "task", f"{name} has a task")
    return DetectedCommands()


def _targets(names: set[str], program: str, reason: str) -> DetectedCommands:
    # Not `install`: it often writes outside the repository.
    checks = [name for name in ("test", "tests", "check") if name in names]
    setup = [name for name in ("setup", "bootstrap", "deps") if name in names]
    return DetectedCommands(
        tuple(Candidate(f"{program} {name}", f"{reason} `{name}`") for name in checks),
        tuple(Candidate(f"{program} {name}", f"{reason} `{name}`") for name in setup),
    )


# A file, and the commands that test and set up such a project; `*` is any name.
_PROJECTS = (
    ("Cargo.toml", "cargo test", "cargo fetch"),
    ("go.mod", "go test ./...", "go mod download"),
    ("mvnw", "./mvnw -q test", None),
    ("pom.xml", "mvn -q test", None),
    ("gradlew", "./gradlew test", None),
    ("build.gradle", "gradle test", None),
    ("build.gradle.kts", "gradle test", None),
    ("mix.exs", "mix test", "mix deps.get"),
    ("*.sln", "dotnet test", "dotnet restore"),
    ("*.csproj", "dotnet test", "dotnet restore"),
    ("Package.swift", "swift test", None),
    ("deno.json", "deno test", None),
    ("deno.jsonc", "deno test", None),
    ("dune-project", "dune test", None),
    ("build.zig", "zig build test", None),
    ("stack.yaml", "stack test", None),
    ("*.cabal", "cabal test", None),
    ("phpunit.xml", "vendor/bin/phpunit", "composer install"),
    ("phpunit.xml.dist", "vendor/bin/phpunit", "composer install"),
)


def _others(folder: Path) -> DetectedCommands:
    checks, setup = list(_ruby(folder)), []
    if checks and (folder / "Gemfile").is_file():
        setup.append(Candidate("bundle install", "there is a Gemfile"))
    if re.search(r'"scripts"\s*:\s*\{[^{}]*"test"\s*:', read_text(folder, "composer.json")):
        checks.append(Candidate("composer test", "composer.json has a script `test`"))
    for name, check_command, setup_command in _PROJECTS:
        path = next(iter(sorted(folder.glob(name))), None)
        if path is not None and path.is_file():
            checks.append(Candidate(check_command, f"there is {path.name}"))
            setup += [Candidate(setup_command, f"there is {path.name}")] if setup_command else []
    return DetectedCommands(tuple(checks), tuple(setup))


def _ruby(folder: Path) -> Iterator[Candidate]:
    prefix = "bundle exec " if (folder / "Gemfile").is_file() else ""
    if (folder / "spec").is_dir() and (prefix or (folder / ".rspec").is_file()):
        yield Candidate(f"{prefix}rspec", "there is a folder spec")
    if (folder / "bin/rails").is_file() and (folder / "test").is_dir():
        yield Candidate("bin/rails test", "there are bin/rails and a folder test")
    elif re.search(r"Rake::TestTask|task[ (]+:test\b", read_text(folder, "Rakefile")):
        yield Candidate(f"{prefix}rake test", "the Rakefile has a task `test`")
