"""Detects the test scripts of a JavaScript project, and its package manager by the lock file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from msgspec import Struct

from bridle.loop.onboarding.candidates import Candidate, DetectedCommands, read_text
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject

# Lock files, their package managers, and the commands that install exactly what is locked.
_LOCKS = (
    ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun", "bun install --frozen-lockfile"),
    ("package-lock.json", "npm", "npm ci"),
    ("npm-shrinkwrap.json", "npm", "npm ci"),
)
# Test runners that may be used without a script, and the commands that run them once.
_RUNNERS = (("vitest", "npx vitest run"), ("jest", "npx jest"), ("mocha", "npx mocha"))
_SCRIPTS = ("test", "test:ci", "test:run", "test:unit", "check")


class _Package(Struct, frozen=True, rename="camel"):
    """The fields of a package.json that are read."""

    package_manager: str = ""
    scripts: JsonObject = {}
    dependencies: JsonObject = {}
    dev_dependencies: JsonObject = {}


def node(folder: Path) -> DetectedCommands:
    """Detect the commands of a package.json."""
    package = _package(folder)
    if package is None:
        return DetectedCommands()
    manager, install, reason = _manager(folder, package)
    checks = _from_scripts(package, manager) or _from_runners(package)
    return DetectedCommands(tuple(checks), (Candidate(install, reason),) if checks else ())


def _package(folder: Path) -> _Package | None:
    try:
        value = json.loads(read_text(folder, "package.json"))
    except (ValueError, RecursionError):
        return None
    return convert(value, _Package) if isinstance(value, dict) else None


def _manager(folder: Path, package: _Package) -> tuple[str, str, str]:
    """Return the package manager, its install command, and the reason."""
    named = re.match(r"(npm|pnpm|yarn|bun)@", package.package_manager)
    for lock, manager, install in _LOCKS:
        if (folder / lock).is_file() and (named is None or named[1] == manager):
            # Yarn 2 and later has its own configuration file and another flag.
            is_berry = manager == "yarn" and (folder / ".yarnrc.yml").is_file()
            return manager, "yarn install --immutable" if is_berry else install, f"there is {lock}"
    if named is not None:
        return named[1], f"{named[1]} install", f"package.json names {named[1]}"
    return "npm", "npm install", "there is package.json"


def _from_scripts(package: _Package, manager: str) -> list[Candidate]:
    candidates = []
    for name in _SCRIPTS:
        script = package.scripts.get(name)
        if isinstance(script, str) and script.strip() and "no test specified" not in script:
            command = _once(script, _call(manager, name))
            candidates += [Candidate(command, f"package.json has a script `{name}`")] if command else []
    return candidates


def _call(manager: str, script: str) -> str:
    if manager == "npm":
        return "npm test" if script == "test" else f"npm run {script}"
    return f"bun run {script}" if manager == "bun" else f"{manager} {script}"


def _once(script: str, command: str) -> str | None:
    """Return the command that runs the script once, or None if it watches for changes."""
    if re.search(r"--watch(?:All)?(?!=false)\b(?!=)|--watch(?:All)?=true", script):
        return None
    if "react-scripts test" in script:
        return f"CI=true {command}"
    if re.search(r"\bng test\b", script) and "--watch=false" not in script:
        return f"{command} -- --watch=false"
    return command


def _from_runners(package: _Package) -> list[Candidate]:
    dependencies = package.dependencies | package.dev_dependencies
    return [Candidate(command, f"package.json requires {name}") for name, command in _RUNNERS if name in dependencies]
