"""Try the built wheel, and a part of the tests, on every Python from 3.11 on that this machine has.

For each Python: the wheel into an empty environment, and there what a new user does first; then the tests of PARTS in
an environment with the pinned packages. The environments stay in .cache.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
MINORS = range(11, 20)
# What differs between versions of Python: processes, the event loop, TLS, types, the standard library's parsers.
PARTS = ("tests/ground", "tests/wire", "tests/stage", "tests/journal", "tests/agent/model", "tests/cli")
# The first thing that a new user does, and a word that its output has. The folder is an empty one.
FIRST_DAY = (
    (("bridle", "--version"), "bridle "),
    (("bridle-cli", "--version"), "bridle "),
    (("bridle-agent", "--version"), "bridle-agent"),
    (("bridle", "help"), "plan-format"),
    (("bridle", "help", "plan-format"), "# Plans"),
    (("bridle", "completion", "bash"), "complete "),
    (("bridle", "completion", "zsh"), "#compdef bridle"),
    (("bridle", "completion", "fish"), "complete -c bridle"),
    (("python", "-W", "error", "-c", "import bridle; print(*map(bridle.__getattr__, bridle._MODULES))"), "run_agent"),
    (("bridle", "schema", "bridle.toml"), "$schema"),
    (("bridle", "plugin", "install", "--dir", "plugin"), "plugin"),
    (("bridle", "demo"), "4 of 4 tasks verified"),
)
# An install on a busy machine takes a minute, the tests of PARTS some.
LIMIT_SECONDS = 1800


def main(arguments: list[str]) -> int:
    """Try each Python; return 1 if something failed on one of them."""
    found = find_pythons()
    wheel = build()
    failed = [name for name, python in found.items() if not try_python(name, python, wheel, arguments)]
    print(f"pythons   {', '.join(found)}: {'failed on ' + ', '.join(failed) if failed else 'all good'}")
    return 1 if failed or not found else 0


def find_pythons() -> dict[str, str]:
    """Return the newest interpreter of each version, those of pyenv too, which may not be on PATH by that name."""
    found: dict[str, str] = {}
    for minor in MINORS:
        name = f"3.{minor}"
        places = sorted(Path.home().glob(f".pyenv/versions/{name}.*/bin/python{name}"), reverse=True)
        for candidate in (*map(str, places), shutil.which(f"python{name}")):
            if candidate is not None and _can_make_environments(candidate, minor):
                found[name] = candidate
                break
    return found


def _can_make_environments(python: str, minor: int) -> bool:
    code = f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return subprocess.run([python, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


def build() -> Path:
    """Build the wheel."""
    folder = CACHE / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    [wheel] = folder.glob("*.whl")
    return wheel


def try_python(name: str, python: str, wheel: Path, arguments: list[str]) -> bool:
    """Return whether the wheel and the tests work on a Python."""
    try:
        print(f"python {name}  {first_day(environment(python, f'wheel-{name}', str(wheel)))}", flush=True)
        tests = environment(python, f"python-{name}", "--require-hashes", "-r", "requirements/dev.lock")
        run(str(tests / "pip"), "install", "-q", "--no-deps", "--force-reinstall", str(wheel))
        outcome = run(str(tests / "pytest"), "-n", "2", "-m", "not real", *PARTS, *arguments)
        print(f"python {name}  {outcome.splitlines()[-1] if outcome else ''}", flush=True)
    except subprocess.SubprocessError as error:
        output = getattr(error, "stdout", None) or ""
        print(f"python {name}  FAILED: {error}\n{output[-4000:]}", flush=True)
        return False
    return True


def environment(python: str, name: str, *requirements: str) -> Path:
    """Make an environment with some requirements; return the folder of its programs."""
    folder = CACHE / f"venv-{name}"
    run(python, "-m", "venv", "--clear", str(folder))
    run(str(folder / "bin" / "pip"), "install", "-q", *requirements)
    return folder / "bin"


def first_day(programs: Path) -> str:
    """Do what a new user does first; return what was done."""
    with tempfile.TemporaryDirectory() as folder:
        for (program, *arguments), word in FIRST_DAY:
            output = run(str(programs / program), *arguments, cwd=Path(folder))
            if word not in output:
                raise subprocess.SubprocessError(
                    f"{program} {' '.join(arguments)}: no {word!r} in its output: {output}"
                )
    return f"{len(FIRST_DAY)} commands of the wheel in an empty environment"


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a program; return its output, or raise with it."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
