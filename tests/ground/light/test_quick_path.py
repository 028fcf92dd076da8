"""Paths of hooks: they are as good as pathlib's, and pathlib is not imported for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bridle
from bridle.ground.light import quick_path
from bridle.ground.light.quick_path import QuickPath

LIMIT_SECONDS = 60
SOURCE = str(Path(bridle.__file__).parents[1])


@pytest.mark.parametrize("text", ["/a/b/c.md", "a/b", "c.tar.md", "/a", ".hidden", "/a/.b.lock"])
def test_a_quick_path_names_what_pathlib_names(text: str) -> None:
    quick, path = QuickPath(text), Path(text)
    assert (quick.name, quick.stem, str(quick.parent)) == (path.name, path.stem, str(path.parent))
    assert str(quick / "x" / "y.json") == str(path / "x" / "y.json")
    assert os.fspath(quick) == str(quick) == text
    assert quick == QuickPath(text)
    assert hash(quick) == hash(QuickPath(text))
    assert quick != QuickPath("/other")


def test_a_quick_path_does_everything_else_as_pathlib_does(tmp_path: Path) -> None:
    file = QuickPath(str(tmp_path)) / "file"
    assert file.exists() is False  # type: ignore[operator]  # what pathlib has and a quick path has not itself
    file.write_bytes(b"text")  # type: ignore[operator]  # the same
    assert (tmp_path / "file").read_bytes() == b"text"
    with pytest.raises(AttributeError):
        file.no_such_thing  # noqa: B018  # looking is the test


def test_where_pathlib_is_loaded_its_own_paths_are_used() -> None:
    assert quick_path.Path is Path


def test_a_program_that_did_not_import_pathlib_gets_quick_paths() -> None:
    probe = (
        f"import sys; sys.path.insert(0, {SOURCE!r})\n"
        "from bridle.ground.light.quick_path import Path\n"
        "print(Path('/a') / 'b', 'pathlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.stdout == "/a/b False\n", done.stderr
