"""Build the page of `bridle watch`: web/src to src/bridle/views/web/static, with esbuild and the pinned packages.

The packages are pinned in web/package-lock.json and kept outside of the checkout, in the same folder as the real
programs of the tests; `--install` only installs them, and where they are is written to .cache for the tests. The
bundle is committed, so that a user needs no node; tests/tools/test_web_page.py builds it again and compares.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.real_parts import INSTALL_LIMIT_SECONDS, PartMissing, cache_folder, npm_install, run_program

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "web"
STATIC = ROOT / "src" / "bridle" / "views" / "web" / "static"
INSTALLED = ROOT / ".cache" / "web-packages.json"
BUILT = ("app.js", "app.css", "licenses.txt")
# Bundling takes a tenth of a second; a hang is a failure.
BUILD_LIMIT_SECONDS = 60
OPTIONS = ["--bundle", "--minify", "--legal-comments=none", "--charset=utf8", "--log-level=warning"]
SCRIPT_OPTIONS = [*OPTIONS, "--format=iife", "--target=es2022"]
# Inside a page, a script that holds one of these would end or hide what follows it. All are inside of strings or
# regular expressions, where `\x3c` is the same character.
MARKUP = re.compile(r"<(?=!--|/?script)", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=STATIC, help="the folder to build to")
    parser.add_argument("--install", action="store_true", help="only install the packages")
    parser.add_argument("--pin", action="store_true", help="write web/package-lock.json anew")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.pin:
            pin()
        elif chosen.install:
            _write_installed(packages(cache_folder(dict(os.environ))))
        else:
            build(chosen.out, packages(cache_folder(dict(os.environ))))
    except PartMissing as missing:
        print(f"web page: {missing}", file=sys.stderr)
        return 1
    return 0


def packages(cache: Path) -> Path:
    """Return the folder of the pinned packages, installing them first where they are missing."""
    lock = SOURCES / "package-lock.json"
    folder = cache / f"web-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if not folder.exists():
        print("web page: installing the packages of the page (once)", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix=".web-", dir=cache) as work:
            fresh = Path(work) / "web"
            fresh.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(SOURCES / name, fresh)
            npm_install(fresh)
            try:
                fresh.rename(folder)
            except OSError:
                if not folder.exists():  # otherwise another run was quicker, and its copy is as good
                    raise
    return folder / "node_modules"


def installed_packages() -> Path:
    """Return the folder of the packages that `--install` has installed."""
    try:
        return Path(json.loads(INSTALLED.read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError) as error:
        raise PartMissing("the packages of the page are not installed: run `make real`") from error


def build(out: Path, node_modules: Path) -> None:
    """Write the script, the styles and the licenses of what is in them."""
    out.mkdir(parents=True, exist_ok=True)
    script = _esbuild(node_modules, SOURCES / "src" / "main.js", SCRIPT_OPTIONS)
    _write(out / "app.js", MARKUP.sub(r"\\x3c", script))
    _write(out / "app.css", _esbuild(node_modules, SOURCES / "src" / "style" / "app.css", OPTIONS))
    _write(out / "licenses.txt", licenses(node_modules))


def licenses(node_modules: Path) -> str:
    """Return the name, version and license of every package in the bundle."""
    lock = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    bundled = [name for name, entry in lock.items() if name and not entry.get("dev") and not entry.get("optional")]
    parts = []
    for name in sorted(bundled):
        folder = node_modules.parent / name
        text = next(path for path in sorted(folder.iterdir()) if path.name.lower().startswith("licen"))
        title = f"{name.removeprefix('node_modules/')} {lock[name]['version']}"
        parts.append(f"{title}\n{'=' * len(title)}\n\n{text.read_text(encoding='utf-8').strip()}\n")
    return "\n\n".join(parts)


def pin() -> None:
    """Resolve web/package.json again: versions and hashes for every platform, and no hosts."""
    options = [
        "--package-lock-only",
        "--omit-lockfile-registry-resolved",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ]
    run_program(["npm", "install", *options], dict(os.environ), SOURCES, INSTALL_LIMIT_SECONDS)
    path = SOURCES / "package-lock.json"
    lock = json.loads(path.read_text(encoding="utf-8"))
    for package in lock["packages"].values():
        package.pop("funding", None)
    _write(path, json.dumps(lock, indent=2) + "\n")


def _esbuild(node_modules: Path, source: Path, options: list[str]) -> str:
    environment = {**os.environ, "NODE_PATH": str(node_modules)}
    command = [str(node_modules / ".bin" / "esbuild"), source.name, *options]
    done = subprocess.run(
        command,
        cwd=source.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode != 0 or done.stderr:
        raise PartMissing(f"{source} cannot be built:\n{done.stderr}")
    return done.stdout


def _write_installed(node_modules: Path) -> None:
    INSTALLED.parent.mkdir(exist_ok=True)
    _write(INSTALLED, json.dumps({"folder": str(node_modules)}) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
