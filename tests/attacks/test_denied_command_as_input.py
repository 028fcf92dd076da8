"""Attack: give a denied command to a shell as its input, or as one word of an option.

A here-string, a here-document, what `echo` or `printf` print, and the value of `env -S` are read by a shell that is
allowed. If a command starts a shell, all texts in it that could be its input are judged as commands.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed if the input is not known.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import AgentCalls

COMMANDS = [
    *("bash <<< 'rm a'", 'sh -s <<< "rm a"', "bash -s <<EOF\nrm a\nEOF", "bash <<'EOF'\nrm a\nEOF"),
    *("cat <<EOF | bash\nrm a\nEOF", "echo 'rm a' | bash", "printf 'rm a' | sh -s", "bash /dev/stdin <<< 'rm a'"),
    *("source /dev/stdin <<< 'rm a'", ". /dev/stdin <<EOF\nrm a\nEOF", "env bash <<< 'rm a'"),
    *("timeout 5 bash <<< 'rm a'", "env -S 'rm a'", "env -S'rm a'", "env --split-string='rm a'"),
    *("echo a | xargs sh -c 'rm $0'", "echo a | xargs -I{} sh -c 'rm {}'", "find . -exec bash -c 'rm a' ';'"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_denied_command_does_not_run(tmp_path: Path, command: str, mode: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("of the user")
    assert AgentCalls(work, "Bash", mode=mode, deny=("Bash(rm *)",)).refused("Bash", command=command)
    assert (work / "a").exists()


@pytest.mark.parametrize("command", ["bash < script", "sudo bash < script", "env bash < script"])
def test_input_that_is_not_known_needs_approval(tmp_path: Path, command: str) -> None:
    (tmp_path / "work").mkdir()
    assert AgentCalls(tmp_path / "work", "Bash", deny=("Bash(rm *)",)).refused("Bash", command=command)


@pytest.mark.parametrize("command", ["cat <<< 'rm a'", "echo 'rm a'", "bash <<< 'echo hello'", "find . -name bash"])
def test_other_texts_are_no_commands(tmp_path: Path, command: str) -> None:
    (tmp_path / "work").mkdir()
    assert not AgentCalls(tmp_path / "work", "Bash", mode="bypassPermissions", deny=("Bash(rm *)",)).refused(
        "Bash", command=command
    )
