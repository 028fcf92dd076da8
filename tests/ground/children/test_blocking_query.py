from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from bridle.errors import ProcessError
from bridle.ground.children.blocking_query import STDERR_LIMIT_BYTES, blocking_query
from bridle.ground.children.query_result import QueryResult

# A test that takes longer than this has hung.
HANG_SECONDS = 120.0


def run(
    code: str,
    *,
    seconds: float = HANG_SECONDS,
    size: int = 1_000_000,
    patience: float = HANG_SECONDS,
    on_patience: Callable[[], None] = lambda: None,
) -> QueryResult:
    return blocking_query(
        (sys.executable, "-I", "-c", code),
        environment={"PATH": "", "MARK": "yes"},
        limit_seconds=seconds,
        limit_bytes=size,
        patience_seconds=patience,
        on_patience=on_patience,
    )


def test_the_output_and_the_exit_code_are_returned() -> None:
    code = "import os,sys; print(os.environ['MARK'], 'HOME' in os.environ); sys.exit(sys.stdin.read() or '!')"
    result = run(code)
    assert (result.stdout, result.stderr, result.exit_code) == (b"yes False\n", b"!\n", 1)
    assert not result.timed_out
    assert not result.is_truncated


def test_it_has_a_session_of_its_own_and_default_signals() -> None:
    assert run("import os; print(os.getsid(0) == os.getpid())").stdout == b"True\n"
    result = blocking_query(
        ("grep", "SigIgn", "/proc/self/status"),
        environment=os.environ,
        limit_seconds=HANG_SECONDS,
        limit_bytes=1000,
        patience_seconds=HANG_SECONDS,
        on_patience=lambda: None,
    )
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        assert int(result.stdout.split()[1], 16) >> (number - 1) & 1 == 0


def test_it_is_killed_at_the_time_limit_and_what_it_printed_is_there() -> None:
    called = []
    result = run(
        "import time; print('first', flush=True); time.sleep(600)",
        seconds=2.0,
        patience=1.0,
        on_patience=lambda: called.append(1),
    )
    assert (result.stdout, result.exit_code, result.timed_out) == (b"first\n", None, True)
    assert called == [1]


def test_it_goes_on_after_the_caller_has_helped(tmp_path: object) -> None:
    pipe = f"{tmp_path}/pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with open(pipe, "w") as stream:
            stream.write("help")

    result = run(f"print(open({pipe!r}).read())", patience=0.5, on_patience=write)
    assert (result.stdout, result.exit_code) == (b"help\n", 0)


def test_it_is_killed_at_the_output_limit() -> None:
    result = run("while True: print('x' * 1000)", size=100_000)
    assert (len(result.stdout), result.exit_code, result.is_truncated) == (100_000, None, True)


def test_of_a_long_error_output_the_beginning_is_returned() -> None:
    result = run("import sys; sys.stderr.write('x' * 3_000_000); print('done')")
    assert (result.stdout, len(result.stderr), result.exit_code) == (b"done\n", STDERR_LIMIT_BYTES, 0)


def test_a_process_that_closes_its_output_is_waited_for() -> None:
    assert run("import os,time; os.close(1); os.close(2); time.sleep(0.3); os._exit(7)").exit_code == 7


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_a_program_that_is_not_on_the_path_is_an_error(path: str) -> None:
    with pytest.raises(ProcessError, match="no-such-program could not be started"):
        blocking_query(
            ("no-such-program",),
            environment={"PATH": path},
            limit_seconds=HANG_SECONDS,
            limit_bytes=1000,
            patience_seconds=HANG_SECONDS,
            on_patience=lambda: None,
        )
