"""The real programs: their versions are the pinned ones, and they know every flag that we pass."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import UsageError
from bridle.run.command import build_command
from bridle.run.request import Mode, Permission, Reasoning, Request
from tests.real.fixtures.installed_programs import pinned_version, program

pytestmark = pytest.mark.real

# Gemini takes four seconds to print its help on an idle machine; a busy one has ten times that.
LIMIT_SECONDS = 60.0
# What comes before the flags decides whose help is to be read.
HELP = {"claude": ([],), "codex": (["exec"], ["exec", "resume"]), "gemini": ([],), "opencode": (["run"],)}
AGENTS = tuple(HELP)


def told(agent: str, home: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and words of a real program that was started with these arguments and no network to speak of."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    done = subprocess.run(
        [str(program(agent)), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=home,
        env={**environment, "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1"},
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def requests(agent: str) -> Iterator[Request]:
    """Requests that, taken together, ask for everything that there is to ask for."""
    sessions: tuple[dict[str, Any], ...] = (
        {},
        {"resume": "0199a213-81c0-7800-8aa1-bbab2a035a53"},
        {"continue_session": True},
    )
    for session, permission, mode in itertools.product(sessions, Permission, Mode):
        yield Request(
            prompt="hello",
            cwd=Path("/"),
            agent=agent,
            mode=mode,
            permission=permission,
            system_prompt="be brief",
            model="a-model",
            reasoning=Reasoning.HIGH,
            json_schema={"type": "object"} if takes(agent, "json_schema", {"type": "object"}) else None,
            allowed_tools=("Read",) if takes(agent, "allowed_tools", ("Read",)) else None,
            partial_messages=True,
            **session,
        )


def takes(agent: str, name: str, value: object) -> bool:
    """Whether an agent can be asked for this at all."""
    try:
        build_command(Request(prompt="hello", cwd=Path("/"), agent=agent, **{name: value}), agent, {})  # type: ignore[arg-type]  # a field by its name
    except UsageError:
        return False
    return True


def flags(argv: tuple[str, ...]) -> set[str]:
    """The flags of a command line, without their values; `-` alone is stdin and no flag."""
    end = argv.index("--") if "--" in argv else len(argv)
    return {word.partition("=")[0] for word in argv[1:end] if re.match(r"--?\w", word)}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_installed_version_is_the_pinned_one(agent: str, tmp_path: Path) -> None:
    exit_code, words = told(agent, tmp_path, "--version")
    assert (exit_code, re.findall(r"\d+\.\d+\.\d+", words)[-1:]) == (0, [pinned_version(agent)])


@pytest.mark.parametrize("agent", AGENTS)
def test_the_real_help_names_every_flag_that_we_pass(agent: str, tmp_path: Path) -> None:
    help_text = "\n".join(told(agent, tmp_path, *before, "--help")[1] for before in HELP[agent])
    passed = set().union(*(flags(build_command(request, agent, {}).argv) for request in requests(agent)))
    assert len(passed) >= 4
    assert {flag for flag in passed if not re.search(rf"(?<![\w-]){flag}(?![\w-])", help_text)} == set()


@pytest.mark.parametrize("resumed", [False, True])
def test_codex_reads_our_whole_command_line_up_to_its_help(resumed: bool, tmp_path: Path) -> None:
    """Codex reads from left to right: a flag it does not know, or not there, is refused before the help is printed."""
    for argv in {build_command(request, "codex", {}).argv for request in requests("codex")}:
        if ("resume" in argv) is resumed:
            exit_code, words = told("codex", tmp_path, *argv[1:-1], "--help")
            assert (exit_code, "Usage: codex exec" in words) == (0, True), (argv, words)
            assert ("exec resume" in words) is resumed
