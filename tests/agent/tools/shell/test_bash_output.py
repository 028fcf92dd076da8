from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.tools.shell.output_spool import KEPT_LIMIT_BYTES
from tests.agent.fixtures.shell_session import HANG_SECONDS, recorded, run_story, shell_session

GIGABYTE = 1024 * 1024 * 1024


def without_paths(value: Any) -> Any:
    """The same with every path to a saved output made equal."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    return re.sub(r"/\S+/tool-results/b[0-9a-z]{8}\.txt", "SAVED", value) if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["27b-bash-output-sizes", "23-tool-shapes"])
def test_a_long_output_is_shown_and_saved_as_recorded(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            seen = 0
            for call, block, detail in recorded(name, "Bash"):
                if "/dev/zero" not in call["input"]["command"] and "seq" not in call["input"]["command"]:
                    continue
                answer = await place.bash(**call["input"])
                assert without_paths(answer.content) == without_paths(block["content"])
                assert without_paths(answer.detail) == without_paths(detail)
                if saved := answer.detail.get("persistedOutputPath"):
                    assert os.path.getsize(saved) == detail["persistedOutputSize"]
                    assert stat.S_IMODE(os.stat(saved).st_mode) == 0o600
                seen += 1
            assert seen == (8 if name.startswith("27b") else 1)
            assert len(list(place.results.iterdir())) == (5 if name.startswith("27b") else 1)

    run_story(story)


@pytest.mark.parametrize(("size", "is_saved"), [(30_000, False), (30_001, True)])
def test_the_limit_counts_characters_and_not_bytes(tmp_path: Path, size: int, is_saved: bool) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash(f"python3 -c \"print('é' * {size}, end='')\"")
            assert ("persistedOutputPath" in answer.detail) is is_saved
            assert len(answer.detail["stdout"]) == 30_000
            if is_saved:
                assert Path(answer.detail["persistedOutputPath"]).read_text("utf-8") == "é" * size

    run_story(story)


def test_the_environment_sets_how_much_is_shown(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path, BASH_MAX_OUTPUT_LENGTH="100") as place:
            assert (await place.bash("printf %0100d 0")).content == "0" * 100
            answer = await place.bash("printf %0101d 0")
            assert str(answer.content).startswith("<persisted-output>\nOutput too large (101 bytes). Full output saved")

    run_story(story)


@pytest.mark.parametrize("size", [9_988, 9_989, 20_000, 30_000])
def test_a_failures_output_has_its_middle_cut_out_as_recorded(tmp_path: Path, size: int) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            answer = await place.bash(f"printf 'BEGIN%0{size - 8}dEND' 0; exit 1")
            text = str(answer.content)
            whole = "Exit code 1\nBEGIN" + "0" * (size - 8) + "END"
            if size + 12 <= 10_000:
                assert text == whole
            else:
                cut = size + 12 - 10_000
                assert text == f"{whole[:5000]}\n\n... [{cut} characters truncated] ...\n\n{whole[-5000:]}"
            assert answer.detail == f"Error: {text}"

    run_story(story)


def test_a_failure_above_the_limit_shows_its_true_end_and_where_the_rest_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            text = str((await place.bash("seq 1 20000; echo THE END; exit 7")).content)
            assert text.startswith("Exit code 7\n1\n2\n")
            assert text.endswith("\n20000\nTHE END")
            found = re.search(r"\[(\d+) characters truncated; Output too large \(.*\)\. Full .* to: (\S+)\] ", text)
            assert found is not None
            whole = Path(found[2]).read_text()
            assert whole.endswith("20000\nTHE END\n")
            assert int(found[1]) == len("Exit code 7\n" + whole.rstrip()) - 10_000

    run_story(story)


def test_binary_output_is_kept_byte_for_byte_in_the_file(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            (place.project / "noise").write_bytes(noise := os.urandom(200_000))
            answer = await place.bash("cat noise")
            assert Path(answer.detail["persistedOutputPath"]).read_bytes() == noise
            assert answer.detail["persistedOutputSize"] == 200_000

    run_story(story)


def test_an_output_that_cannot_be_saved_is_still_returned(tmp_path: Path) -> None:
    async def story() -> None:
        async with shell_session(tmp_path) as place:
            place.results.write_text("in the way")
            answer = await place.bash("seq 1 20000")
            text = str(answer.content)
            assert "Output too large (106.3KB). It could not be saved: " in text
            assert "\n1\n2\n3\n" in text
            assert not answer.is_error

    run_story(story)


LOUD = """
import asyncio, os, resource, sys
from pathlib import Path
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.bash import Bash, BashInput
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.shell import Shell

async def main():
    folder = Path(sys.argv[1])
    shell = Shell(folder, environment=dict(os.environ), session_id="s")
    background = BackgroundTasks(shell, folder / "tasks", tail_characters=32_000)
    bash = Bash(shell, background, results_folder=folder / "results", limits=CommandLimits())
    await bash.run(BashInput("seq 100000"), call_id="warm")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.002)
            ticks += 1

    ticking = asyncio.create_task(tick())
    answer = await bash.run(BashInput(sys.argv[2]), call_id="loud")
    ticking.cancel()
    await shell.close()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, ticks)
    print(answer.detail["persistedOutputPath"], answer.detail["persistedOutputSize"])
    print(answer.content.splitlines()[1])

asyncio.run(main())
"""


def test_a_command_that_prints_a_gigabyte_takes_neither_memory_nor_the_disk_nor_the_event_loop(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOUD, str(tmp_path), f"head -c {GIGABYTE} /dev/zero"],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    first, second, told = done.stdout.splitlines()
    grown_megabytes, ticks = map(int, first.split())
    path, size = second.split()
    assert grown_megabytes < 16
    assert ticks > 20  # other work went on all the time
    assert int(size) == KEPT_LIMIT_BYTES
    kept = Path(path).read_bytes()
    lost = GIGABYTE - KEPT_LIMIT_BYTES
    assert kept[KEPT_LIMIT_BYTES:] == f"\n[{lost} more bytes were printed and not stored]\n".encode()
    assert told == f"Output too large (1GB). Its first 64MB are saved to: {path}"
