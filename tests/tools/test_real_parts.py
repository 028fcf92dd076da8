"""The real parts are where the tests look for them, and a missing one is said and never passed over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.fixtures import installed_programs
from tools import real_parts

ROOT = Path(__file__).parents[2]
# A version is printed within seconds; a hang is a failure.
LIMIT_SECONDS = 120

PART = real_parts.Part(name="thing", package="thing", version="1.2.3", program="thing", after=None)


def folder_with(cache: Path, says: str) -> Path:
    """A cache that holds a part which prints those words as its version."""
    folder = PART.folder(cache)
    program = PART.executable(folder)
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "{says}"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.mark.real
@pytest.mark.parametrize("name", ["babysitter", "claude", "codex", "gemini", "opencode"])
def test_a_real_part_is_installed_at_its_pinned_version(name: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DISABLE_AUTOUPDATER": "1"}
    command = [str(installed_programs.program(name)), "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    assert installed_programs.pinned_version(name) in done.stdout


@pytest.mark.real
def test_the_real_library_is_installed_at_its_pinned_version_without_its_programs() -> None:
    module = installed_programs.agent_sdk_module()
    package = json.loads((module.parent / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == installed_programs.pinned_version("agent-sdk")
    assert [path.name for path in module.parent.parent.iterdir() if path.name.startswith("claude-agent-sdk-")] == []


def test_a_library_is_checked_by_its_package(tmp_path: Path) -> None:
    part = real_parts.Part(
        name="lib", package="lib", version="1.2.3", program="lib/main.mjs", after=None, is_library=True
    )
    package = part.folder(tmp_path) / "node_modules" / "lib"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.2.3"}', encoding="utf-8")
    with pytest.raises(real_parts.PartMissing, match=r"should hold lib 1\.2\.3"):
        real_parts.ensure(part, tmp_path)
    (package / "main.mjs").write_text("", encoding="utf-8")
    assert real_parts.ensure(part, tmp_path) == "1.2.3"
    (package / "package.json").write_text('{"version": "9.9.9"}', encoding="utf-8")
    with pytest.raises(real_parts.PartMissing, match=r"says '9\.9\.9'"):
        real_parts.ensure(part, tmp_path)


def test_a_part_in_the_cache_is_not_installed_again(tmp_path: Path) -> None:
    folder_with(tmp_path, "thing 1.2.3")
    assert real_parts.ensure(PART, tmp_path) == "1.2.3"


def test_a_part_of_another_version_is_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, "thing 9.9.9")
    with pytest.raises(real_parts.PartMissing, match=r"should hold thing 1\.2\.3 but says 'thing 9\.9\.9'"):
        real_parts.ensure(PART, tmp_path)


def test_a_part_sees_neither_the_home_nor_the_keys_of_the_user(tmp_path: Path) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "a key that matters"
    folder = folder_with(tmp_path, "1.2.3 $HOME $ANTHROPIC_API_KEY")
    PART.executable(folder).write_text(
        '#!/bin/sh\necho "1.2.3 $HOME $ANTHROPIC_API_KEY" | tee "$0.said"\n', encoding="utf-8"
    )
    real_parts.ensure(PART, tmp_path)
    said = PART.executable(folder).with_suffix(".said").read_text(encoding="utf-8")
    assert "a key that matters" not in said
    assert os.environ["HOME"] not in said


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"BRIDLE_CACHE": "mine", "HOME": "home"}, "mine"),
        ({"XDG_CACHE_HOME": "xdg", "HOME": "home"}, "xdg/bridle-real"),
        ({"HOME": "home"}, "home/.cache/bridle-real"),
    ],
)
def test_the_cache_is_the_first_place_that_is_named(tmp_path: Path, environment: dict[str, str], place: str) -> None:
    named = {name: str(tmp_path / value) for name, value in environment.items()}
    assert real_parts.cache_folder(named) == tmp_path / place


def test_without_a_home_the_checkout_keeps_the_parts() -> None:
    assert real_parts.cache_folder({}) == ROOT / ".cache" / "real"


def test_without_npm_the_run_fails_and_says_what_to_install(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "real_parts.py")],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "node and npm are not on PATH" in done.stderr


def test_a_program_that_is_not_pinned_is_no_program() -> None:
    with pytest.raises(KeyError):
        installed_programs.program("unheard-of")


def test_every_pin_is_an_exact_version() -> None:
    for pin in json.loads(installed_programs.PINS.read_text(encoding="utf-8")).values():
        assert pin["version"].replace(".", "").isdigit()
