"""Commands as hooks: what they read, how they are started, and when nothing waits for them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bridle.agent.hooks.command_hook import run_command
from bridle.agent.hooks.definitions import CommandHook
from bridle.agent.hooks.outcome import HookOutput

PAYLOAD = {"hook_event_name": "Stop"}


async def _output(hook: CommandHook, cwd: Path) -> tuple[HookOutput, bool]:
    is_async = asyncio.Event()
    output = await run_command(hook, PAYLOAD, cwd, dict(os.environ), is_async)
    return output, is_async.is_set()


def test_a_command_reads_the_event_and_its_output_is_whole(tmp_path: Path) -> None:
    async def main() -> None:
        output, is_async = await _output(CommandHook("cat; echo err >&2; exit 3"), tmp_path)
        assert output == HookOutput("cat; echo err >&2; exit 3", 3, '{"hook_event_name":"Stop"}\n', "err\n")
        assert not is_async

    asyncio.run(main())


def test_a_program_gets_its_arguments_without_a_shell(tmp_path: Path) -> None:
    async def main() -> None:
        hook = CommandHook(sys.executable, arguments=("-c", "import sys; print(sys.argv[1:])", "$HOME; x"))
        output, _ = await _output(hook, tmp_path)
        assert (output.exit_code, output.stdout) == (0, "['$HOME; x']\n")

    asyncio.run(main())


def test_a_first_line_says_that_nothing_need_wait(tmp_path: Path) -> None:
    async def main() -> None:
        _, is_async = await _output(CommandHook("""echo '{"async": true}'; echo more"""), tmp_path)
        assert is_async
        _, later = await _output(CommandHook("""echo first; echo '{"async": true}'"""), tmp_path)
        assert not later

    asyncio.run(main())


def test_a_program_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    async def main() -> None:
        output, _ = await _output(CommandHook("/nosuch/program", arguments=()), tmp_path)
        assert output.exit_code is None
        assert "/nosuch/program" in output.stderr

    asyncio.run(main())
