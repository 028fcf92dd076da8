"""Installs the real programs that the tests start, once for each version, and prints what is there.

Standard library only. The pins are in tests/real/parts.json, the hashes of every package in tests/real/locks
(`--pin` writes those anew). The peers of the loop's benchmark are pinned in the same way in bench/peers.json and
bench/locks; the benchmark itself installs them. The programs are kept outside of the checkout, so that a second
checkout on the same machine is ready at once: in $BRIDLE_CACHE, else in the user's cache folder, else in
.cache/real. Which program is where is written to .cache/real-parts.json for the tests. A part that cannot be had
ends the run with the reason.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "tests" / "real" / "parts.json"
LOCKS = ROOT / "tests" / "real" / "locks"
PEERS = ROOT / "bench" / "peers.json"
INSTALLED = ROOT / ".cache" / "real-parts.json"

# The largest part is a download of about 250 MB: at 1 MB/s that is four minutes, and then some.
INSTALL_LIMIT_SECONDS = 900
# Each answers within three seconds on an idle machine; ten times that and more for a busy one.
VERSION_LIMIT_SECONDS = 120
# A dropped connection is common among downloads of this size; a third failure is not chance.
INSTALL_TRIES = 3
# Scripts of packages do not run by themselves; the one that is needed is named in the pins.
NPM_OPTIONS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]


class PartMissing(Exception):
    """A real part cannot be had; the message says which and why."""


@dataclass(frozen=True)
class Part:
    """One npm package, pinned."""

    name: str
    package: str
    version: str
    program: str
    after: str | None
    """A script of the package, relative to node_modules, that puts the platform's binary in place."""
    locks: Path = LOCKS
    beside: dict[str, str] = field(default_factory=dict)
    """Packages that it needs beside it and does not name itself, such as what runs its language."""
    omits_optional: bool = False
    """Whether its optional packages are left out, such as a program of which the tests have their own copy."""
    is_library: bool = False
    """Whether it is a module that programs import: `program` is its file below node_modules."""

    @property
    def lock(self) -> Path:
        """Its pinned packages, in npm's own form."""
        return self.locks / f"{self.name}.json"

    def folder(self, cache: Path) -> Path:
        """Where this version is kept."""
        return cache / f"{self.name}-{self.version}-{platform.system()}-{platform.machine()}".lower()

    def executable(self, folder: Path) -> Path:
        """The program, or the module of a library, inside of that folder."""
        if self.is_library:
            return folder / "node_modules" / self.program
        return folder / "node_modules" / ".bin" / self.program


def main(arguments: list[str]) -> int:
    """Install what is missing, then run each program once to see its version."""
    try:
        if arguments == ["--pin"]:
            return _pin([*pinned_parts(PINS), *pinned_parts(PEERS)])
        node = _node_version()
        parts, cache = pinned_parts(PINS), cache_folder(dict(os.environ))
        with ThreadPoolExecutor(len(parts)) as pool:  # one after the other takes three times as long
            versions = list(pool.map(lambda part: ensure(part, cache), parts))
    except PartMissing as missing:
        print(f"real parts: {missing}", file=sys.stderr)
        return 1
    _write_installed(parts, cache)
    found = [("python", _project_python()), ("node", node)]
    found += [(part.name, version) for part, version in zip(parts, versions, strict=True)]
    found.append(("anthropic client", _client_version()))
    print("real parts: " + ", ".join(f"{name} {version}" for name, version in found))
    return 0


def pinned_parts(pins: Path) -> list[Part]:
    """The parts that the repository pins."""
    entries = json.loads(pins.read_text(encoding="utf-8"))
    return [Part(name=name, locks=pins.with_name("locks"), **entry) for name, entry in entries.items()]


def cache_folder(environment: dict[str, str]) -> Path:
    """The first of the known places that can be written to."""
    home_cache = environment.get("XDG_CACHE_HOME") or (
        environment.get("HOME") and str(Path(environment["HOME"]) / ".cache")
    )
    if environment.get("BRIDLE_CACHE"):
        return _writable(Path(environment["BRIDLE_CACHE"])) or _refuse_cache(environment["BRIDLE_CACHE"])
    shared = _writable(Path(home_cache) / "bridle-real") if home_cache else None
    return shared or _writable(ROOT / ".cache" / "real") or _refuse_cache(str(ROOT / ".cache" / "real"))


def ensure(part: Part, cache: Path) -> str:
    """The version that the part itself reports, installing it first where it is missing."""
    folder = part.folder(cache)
    if not folder.exists():
        _install(part, folder)
    return reported_version(part, folder)


def reported_version(part: Part, folder: Path) -> str:
    """Run the program in a home of its own, or read the version of a library; any but the pinned one is refused."""
    if part.is_library:
        return _library_version(part, folder)
    with tempfile.TemporaryDirectory(prefix="bridle-real-") as home:
        program = part.executable(folder)
        command = [str(program), "--version"]
        said = _output(command, home=Path(home), limit_seconds=VERSION_LIMIT_SECONDS, first=program.parent)
    if part.version not in said:
        raise PartMissing(f"{folder} should hold {part.name} {part.version} but says {said!r}: delete it")
    return part.version


def _library_version(part: Part, folder: Path) -> str:
    package = folder / "node_modules" / part.package / "package.json"
    try:
        said = json.loads(package.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError) as error:
        raise PartMissing(f"{folder} should hold {part.name} {part.version}: {error}: delete it") from error
    if part.version != said or not part.executable(folder).is_file():
        raise PartMissing(f"{folder} should hold {part.name} {part.version} but says {said!r}: delete it")
    return part.version


def _install(part: Part, folder: Path) -> None:
    """Build the folder beside its place and rename it: two runs at once cannot disturb each other."""
    print(f"real parts: installing {part.package} {part.version} (once)", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix=f".{part.name}-", dir=folder.parent) as work:
        fresh = Path(work) / "part"
        fresh.mkdir()
        _write_project(part, fresh)
        shutil.copy(part.lock, fresh / "package-lock.json")
        npm_install(fresh, *(["--omit=optional"] if part.omits_optional else []))
        if part.after is not None:
            script = fresh / "node_modules" / part.after
            home = Path(work) / "home"
            home.mkdir()
            _output(["node", script.name], home=home, cwd=script.parent, limit_seconds=INSTALL_LIMIT_SECONDS)
        reported_version(part, fresh)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.exists():  # otherwise another run was quicker, and its copy is as good
                raise


def _write_project(part: Part, folder: Path) -> None:
    project = {"private": True, "dependencies": {part.package: part.version, **part.beside}}
    (folder / "package.json").write_text(json.dumps(project) + "\n", encoding="utf-8")


def npm_install(folder: Path, *more: str) -> None:
    """Ordinary npm, held to the lock; inside of the folder, as `--prefix` would hide the machine's npm settings.

    Not `npm ci`: that refuses a lock from which the registry left a foreign platform's package out.
    """
    for attempt in range(1, INSTALL_TRIES + 1):
        try:
            run_program(["npm", "install", *NPM_OPTIONS, *more], dict(os.environ), folder, INSTALL_LIMIT_SECONDS)
            return
        except PartMissing:
            if attempt == INSTALL_TRIES:
                raise


def _pin(parts: list[Part]) -> int:
    """Write the lock of each part anew: versions and hashes for every platform, and no hosts."""
    options = ["--package-lock-only", "--omit-lockfile-registry-resolved", *NPM_OPTIONS]
    for part in parts:
        part.locks.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="bridle-pin-") as work:
            folder = Path(work)
            _write_project(part, folder)
            run_program(["npm", "install", *options], dict(os.environ), folder, INSTALL_LIMIT_SECONDS)
            lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
        for package in lock["packages"].values():
            package.pop("funding", None)
        lock["name"] = part.name
        part.lock.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
    return 0


def _output(
    command: list[str], *, home: Path, limit_seconds: int, cwd: Path | None = None, first: Path | None = None
) -> str:
    """What a program prints when it sees neither the user's settings nor a key of theirs; `first` is first on PATH."""
    path = os.environ.get("PATH", os.defpath)
    environment = {
        "PATH": path if first is None else f"{first}{os.pathsep}{path}",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_API_KEY": "no-key-is-needed",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return run_program(command, environment, cwd or home, limit_seconds)


def run_program(command: list[str], environment: dict[str, str], cwd: Path, limit_seconds: int) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PartMissing(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        raise PartMissing(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout.strip()


def _node_version() -> str:
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise PartMissing("node and npm are not on PATH; on Debian: apt-get install nodejs npm")
    with tempfile.TemporaryDirectory(prefix="bridle-real-") as home:
        return _output(["node", "--version"], home=Path(home), limit_seconds=VERSION_LIMIT_SECONDS)


def _project_python() -> str:
    return platform.python_version()


def _client_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("anthropic")
    except PackageNotFoundError as error:
        raise PartMissing("the official anthropic client is not in this environment: run `make test`") from error


def _writable(folder: Path) -> Path | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _refuse_cache(folder: str) -> Path:
    raise PartMissing(f"{folder} cannot be written to; set BRIDLE_CACHE to a folder that can")


def _write_installed(parts: list[Part], cache: Path) -> None:
    found = {
        part.name: {"version": part.version, "program": str(part.executable(part.folder(cache)))} for part in parts
    }
    INSTALLED.parent.mkdir(exist_ok=True)
    fresh = INSTALLED.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    fresh.replace(INSTALLED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
