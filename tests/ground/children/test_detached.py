"""A command that outlives the process that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.errors import Error
from bridle.ground.children.detached import start_detached
from tests.fixtures.bridle_program import LIMIT_SECONDS

CODE = """
import os, sys
from pathlib import Path
from bridle.ground.children.detached import start_detached
code = "import sys; print('out'); print('ready', file=sys.stderr, flush=True); open(sys.argv[1]).read()"
start_detached((sys.executable, "-c", code, sys.argv[1]), cwd=Path(sys.argv[2]), environment=dict(os.environ),
               errors=Path(sys.argv[3]))
"""


def test_it_outlives_its_starter_in_a_session_of_its_own(tmp_path: Path) -> None:
    pipe, errors = tmp_path / "pipe", tmp_path / "made" / "errors"
    os.mkfifo(pipe)
    subprocess.run([sys.executable, "-c", CODE, pipe, tmp_path, errors], check=True, timeout=LIMIT_SECONDS)
    with pipe.open("w") as writer:  # opens once the child reads it
        assert errors.read_text() == "ready\n"
        assert oct(errors.stat().st_mode)[-3:] == "600"
        writer.write("end")


def test_its_exit_code_is_known_where_it_ends_in_time(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    errors.write_text("of an earlier one")
    argv = (sys.executable, "-c", "import sys; sys.exit('no')")
    started = start_detached(argv, cwd=tmp_path, environment=dict(os.environ), errors=errors)
    assert started.wait(LIMIT_SECONDS) == 1
    assert errors.read_text() == "no\n"


def test_it_is_not_waited_for_beyond_the_limit(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = (sys.executable, "-c", "import sys; open(sys.argv[1]).read()", str(pipe))
    started = start_detached(argv, cwd=tmp_path, environment=dict(os.environ), errors=tmp_path / "errors")
    assert started.wait(0.01) is None
    pipe.open("w").close()
    assert started.wait(LIMIT_SECONDS) == 0


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Error, match="could not be started"):
        start_detached((str(tmp_path / "none"),), cwd=tmp_path, environment={}, errors=tmp_path / "errors")


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "errors").symlink_to(tmp_path / "kept")
    argv = (sys.executable, "-c", "import sys; sys.exit('no')")
    started = start_detached(argv, cwd=tmp_path, environment=dict(os.environ), errors=tmp_path / "errors")
    started.wait(LIMIT_SECONDS)
    assert (tmp_path / "kept").read_text() == "kept"
