"""Attack: an agent weakens a protected test, and replaces the object in `.git/objects` from which it is restored.

Git does not compare an object with its id when it reads it. Bridle does: it stops, and names the object.

With the sandbox: the same; `.git/objects` is writable in it.
Without: nothing is restored from it; the run stops.
Reported: on stderr; the error names the object.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import GitError
from tests.attacks.fixtures.git_forgery import forge_object
from tests.loop.fixtures.repositories import make_repository

WEAK = b"def test_one():\n    pass\n"


@pytest.mark.parametrize("version", ["of the baseline", "of the last commit"])
def test_nothing_is_restored_from_it(tmp_path: Path, version: str) -> None:
    files: dict[str, str | bytes] = {"test_a.py": "def test_one():\n    assert 1 == 1\n"}
    here = make_repository(tmp_path / "r", files, checks=("pytest test_a.py",), may_edit=("test_a.py",))
    here.start()
    if version == "of the last commit":  # the other task may edit it
        here.write({"test_a.py": "def test_one():\n    assert 2 == 2\n"})
        here.commit()
    blob = here.git("rev-parse", "HEAD:test_a.py").strip()
    here.write({"test_a.py": WEAK})
    forge_object(here.folder, blob, WEAK)
    with pytest.raises(GitError, match=f"the object {blob} .* was replaced"):
        here.protect()
