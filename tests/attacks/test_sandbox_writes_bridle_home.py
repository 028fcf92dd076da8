"""Attack: an agent changes the user's own settings or trust in `BRIDLE_HOME`.

In the sandbox the folder is hidden, and nothing that is written there is kept.

With the sandbox: impossible; the folder is hidden.
Without: possible.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_the_folder_of_the_user_stays_as_it_is(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    target.attack("chmod 700 ~/.bridle; echo permission=bypass > ~/.bridle/bridle.toml; mkdir ~/.bridle/trust; true")
    assert (target.home / ".bridle" / "trust").exists() == (sandbox == OFF)
    assert ((target.home / ".bridle" / "bridle.toml").read_text() == SECRET) == (sandbox != OFF)
